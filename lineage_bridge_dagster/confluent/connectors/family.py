"""A family of connector classes, and the readers of its configurations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.record import ConnectorRecord, ExistingTopics
from lineage_bridge_dagster.confluent.connectors.transforms import Routing
from lineage_bridge_dagster.confluent.connectors.transforms.origins import Origins


@dataclass(frozen=True, slots=True)
class WrittenTopic:
    """A topic that a source writes, named as before transforms, and a dataset that its records come from.

    A topic of several datasets is yielded once for each. Empty for what the configuration does not tell:
    a topic whose dataset is not known, or a dataset whose topic is not known.

    `by_name` is set if the configuration leaves open which topics there are, and only its name indicates that
    this is one of them; `dataset_by_name` if the dataset is also derived from that name.
    """

    topic: str
    dataset: str = ""
    by_name: bool = False
    dataset_by_name: bool = False


def named_for(topic: str, dataset: str = "", *, listed: bool = False) -> WrittenTopic:
    """A topic that exists under the name that it would have if this dataset did.

    Args:
        topic: Its name before transforms.
        dataset: What its records come from.
        listed: Whether the configuration names the dataset as well, so that neither is inferred.
    """
    return WrittenTopic(topic, dataset, by_name=not listed, dataset_by_name=not listed)


@dataclass(slots=True)
class SourceContext:
    """Input of a source's reader, and its further output.

    Attributes:
        internal: Output: bookkeeping topics that the connector writes.
        warnings: Output: what could not be determined.
    """

    connector: ConnectorRecord
    config: Config
    cluster_topics: ExistingTopics
    routing: Routing
    internal: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def named_like(self, prefix: str) -> list[str]:
        """The remainder of each cluster topic that starts with a prefix, without bookkeeping topics.

        If the connector's transforms rename topics, these are the names before them, as far as the topics
        tell. Topics that may have had several names are left out, with a warning.
        """
        found: list[str] = []
        renamed: list[str] = []
        internal = set(self.internal)
        origins = Origins(self.config, self.routing)
        # Transforms may change how a topic's name starts.
        candidates = self.cluster_topics if self.routing else self.cluster_topics.starting(prefix)
        for topic in candidates if prefix else ():
            if topic in internal:
                continue
            names = origins.of(topic, prefix) if self.routing else [topic]
            if len(names) == 1:
                found += names
            elif names or topic.startswith(prefix):
                renamed.append(topic)
        if self.routing and (renamed or origins.are_lost or not found):
            examples = f": {', '.join(renamed[:3])}" if renamed else ""
            self.routing.warnings.append(
                f"its transforms rename topics: which of them were {prefix}* is known only with a list of "
                f"plain table names{examples}"
            )
        return [topic.removeprefix(prefix) for topic in found]


@dataclass(slots=True)
class SinkContext:
    """Input of a sink's reader, and its further output.

    Attributes:
        topics: All topics that it reads, as they are called in the cluster.
        warnings: Output: what could not be determined.
    """

    connector: ConnectorRecord
    config: Config
    topics: list[str]
    warnings: list[str] = field(default_factory=list)


#: Yields what a source writes.
Source = Callable[[SourceContext], Iterator[WrittenTopic]]
#: The datasets that the records of a topic are written to: one, several, or "" for unknown. The topic is
#: named as the connector sees it, after its transforms.
Sink = Callable[[SinkContext, str], str | Iterable[str]]


@dataclass(frozen=True, slots=True)
class Family:
    """Connector classes whose configurations are read in the same way.

    Attributes:
        name: Unique among sources and among sinks.
        classes: What `connector.class` may be: plugin ids of managed connectors, and Java classes, which have
            dots, of self-managed ones.
        source: Reads a source's configuration; None for a sink.
        sink: Reads a sink's configuration; None for a source.
        topics: Numbered keys that name a sink's topics, besides `topics` itself.
        has_dataset: False if its data comes from or goes to nothing that has a name, such as generated data.
    """

    name: str
    classes: tuple[str, ...]
    source: Source | None = None
    sink: Sink | None = None
    topics: tuple[str, ...] = ()
    has_dataset: bool = True

    @property
    def direction(self) -> str:
        """`source` or `sink`."""
        return "source" if self.source else "sink"


#: Every family that a module of `families/` declares.
SOURCES: list[Family] = []
SINKS: list[Family] = []


#: What the start of a class stands for in declarations: packages of Confluent, and of Lenses, now and before.
_PACKAGES = {
    "confluent": ("io.confluent.connect.",),
    "lenses": ("io.lenses.streamreactor.connect.", "com.datamountaineer.streamreactor.connect."),
}


def _classes(declared: Iterable[str]) -> Iterator[str]:
    for word in " ".join(declared).split():
        vendor, _, name = word.rpartition(":")
        yield from (package + name for package in _PACKAGES.get(vendor, ("",)))


def source_family(name: str, *classes: str, has_dataset: bool = True) -> Callable[[Source], Source]:
    """Declare the family of sources that a reader reads, by decorating or calling it with the reader.

    Args:
        name: As in `Family`.
        *classes: As in `Family`; several may be one text, separated by spaces. `confluent:` and `lenses:`
            stand for the packages of Confluent and of Lenses.
        has_dataset: As in `Family`.
    """

    def declare(reader: Source) -> Source:
        SOURCES.append(Family(name, tuple(_classes(classes)), source=reader, has_dataset=has_dataset))
        return reader

    return declare


def sink_family(
    name: str, *classes: str, topics: tuple[str, ...] = (), has_dataset: bool = True
) -> Callable[[Sink], Sink]:
    """Declare the family of sinks that a reader reads, as `source_family` does."""

    def declare(reader: Sink) -> Sink:
        SINKS.append(Family(name, tuple(_classes(classes)), None, reader, topics, has_dataset))
        return reader

    return declare
