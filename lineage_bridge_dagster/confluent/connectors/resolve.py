"""A connector's configuration -> the topics and external datasets that it reads and writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.confluent.connectors.config import Config, is_resolved, split_list
from lineage_bridge_dagster.confluent.connectors.families import family_of
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext, SourceContext
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, evaluated, full_matches
from lineage_bridge_dagster.confluent.connectors.record import (
    ConnectorLineage,
    ConnectorRecord,
    ExistingTopics,
)
from lineage_bridge_dagster.confluent.connectors.transforms import routing_of
from lineage_bridge_dagster.lineage.unknowns import Unknown
from lineage_bridge_dagster.redaction.redact import redact_text


def sink_topics(
    config: Config, cluster_topics: Collection[str], warnings: list[str], numbered: Iterable[str] = ()
) -> list[str]:
    """A sink's topics: `topics`, else the cluster's topics that match `topics.regex`; and numbered keys."""
    topics = config.items("topics")
    if not topics and (pattern := config.get("topics.regex")):
        try:
            topics = full_matches(pattern, cluster_topics)
        except BadRegexError as error:
            warnings.append(f"topics.regex cannot be applied: {error}")
        else:
            if not topics:
                warnings.append(f"topics.regex {pattern} matches no topic of the cluster")
    for pattern in numbered:
        for _, value in config.numbered(pattern):
            topics += split_list(value)
    if not topics and not config.get("topics.regex"):
        warnings.append("neither topics nor topics.regex is set: its topics are not known")
    return list(dict.fromkeys(topics))


def dlq_topic(connector: ConnectorRecord, config: Config, cluster_topics: Collection[str]) -> str:
    """A sink's dead letter topic: the configured one, else a managed connector's default `dlq-${connector}`.

    The default counts only if the topic exists: it is created with the first bad record.
    """
    # Azure Data Explorer's connector has a second queue, for what it cannot ingest.
    named = config.get("errors.deadletterqueue.topic.name") or config.get("misc.deadletterqueue.topic.name")
    if named:
        return named.replace("${connector}", connector.id or connector.name)
    if connector.id is None or config.get("errors.tolerance", default="all").lower() == "none":
        return ""
    default = f"dlq-{connector.id}"
    return default if default in cluster_topics or not cluster_topics else ""


def report_topics(connector: ConnectorRecord, config: Config, cluster_topics: Collection[str]) -> list[str]:
    """The success and error topics of a connector that calls an API: those set, and defaults that exist."""
    found: list[str] = []
    for key, default in (("result", "success-${connector}"), ("error", "error-${connector}")):
        named = config.get(f"reporter.{key}.topic.name")
        topic = (named or default).replace("${connector}", connector.id or connector.name)
        if named or (connector.id is not None and topic in cluster_topics):
            found.append(topic)
    return found


#: Topics that no configuration names.
_ANY_TOPICS = ("qzva1", "qzvb22.x")
#: Confidence of lineage from the generic keys of an unknown class.
_UNKNOWN_CLASS = 0.6


def resolve(connector: ConnectorRecord, cluster_topics: Collection[str]) -> ConnectorLineage:
    """What a connector reads and writes. Never raises on a configuration, but adds warnings.

    Regular expressions are evaluated in a JVM. For many connectors, call it within `evaluated`.

    Args:
        connector: The connector, as listed by the Connect API.
        cluster_topics: All topics of its cluster, to resolve expressions and prefixes. Pass `ExistingTopics`
            for several connectors, so that they are sorted only once.
    """
    topics = ExistingTopics.of(cluster_topics)
    return evaluated([lambda: _resolve(connector, topics)])[0]


def _resolve(connector: ConnectorRecord, topics: ExistingTopics) -> ConnectorLineage:
    config = Config(connector.config)
    class_name = config.get("connector.class", "confluent.custom.connector.class")
    family = family_of(class_name)
    direction = _direction(connector, config, family)
    if family is None:
        return _unknown(connector, config, class_name, direction, topics)
    read = _source if family.source is not None else _sink
    lineage = read(connector, config, family, topics)
    if direction == family.direction:
        return lineage
    warning = (
        f"{class_name} is a {family.direction}, but the API reports a {direction}; "
        f"treated as a {family.direction}"
    )
    return replace(lineage, warnings=(*lineage.warnings, warning))


def _direction(connector: ConnectorRecord, config: Config, family: Family | None) -> str:
    """The API's type, else the family's; never the configuration's own `type`, which may be wrong."""
    if connector.type.lower() in ("source", "sink"):
        return connector.type.lower()
    if family is not None:
        return family.direction
    return "sink" if config.get("topics", "topics.regex") else "source"


@dataclass(slots=True)
class _Flows:
    """Collects which inputs each output is made of."""

    #: Output -> its inputs, without duplicates; "" stands for an input that is not known.
    inputs: dict[str, dict[str, None]] = field(default_factory=dict)
    #: Inputs and outputs -> whether each is inferred from the name of a topic.
    by_name: dict[str, bool] = field(default_factory=dict)
    unresolved: bool = False

    def add(self, source: str, target: str, *, source_by_name: bool = False, by_name: bool = False) -> None:
        source, target = self._name(source), self._name(target)
        self.inputs.setdefault(target, {})[source] = None
        for name, inferred in ((source, source_by_name), (target, by_name)):
            self.by_name[name] = inferred and self.by_name.get(name, True)

    def drop(self, targets: Iterable[str]) -> None:
        """Leave out outputs that are not lineage."""
        for target in filter(None, targets):
            self.inputs.pop(target, None)

    def _name(self, name: str) -> str:
        """The name if it is known and safe to publish in metadata and Glue, else empty."""
        if is_resolved(name):
            # Names are made of hosts, paths and tables, so what looks like a secret is a misread address.
            return name if redact_text(name) == name else ""
        self.unresolved = True
        return ""

    @property
    def sources(self) -> tuple[str, ...]:
        return _unique(source for sources in self.inputs.values() for source in sources)

    @property
    def targets(self) -> tuple[str, ...]:
        return _unique(self.inputs)

    @property
    def inferred(self) -> tuple[str, ...]:
        """The inputs and outputs that are known only from the names of topics."""
        found = {*self.sources, *self.targets}
        return tuple(name for name, inferred in self.by_name.items() if inferred and name in found)

    @property
    def open_targets(self) -> list[str]:
        """The outputs that may be made of more than is known."""
        return [target for target, sources in self.inputs.items() if target and "" in sources]

    @property
    def has_lost_inputs(self) -> bool:
        """Whether an input is known of which an output is not."""
        return any(self.inputs.get("", ()))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of every output of which all inputs are known."""
        return tuple(
            (source, target)
            for target, sources in self.inputs.items()
            if target and "" not in sources
            for source in sources
        )

    def warnings(self, what: str) -> list[str]:
        if not self.unresolved:
            return []
        return [
            f"its configuration refers to values that only the Connect worker knows (${{...}}), "
            f"so some of its {what} are not known"
        ]


def _source(
    connector: ConnectorRecord, config: Config, family: Family, cluster_topics: ExistingTopics
) -> ConnectorLineage:
    routing = routing_of(config, cluster_topics)
    context = SourceContext(connector, config, cluster_topics, routing)
    flows = _Flows()
    renamed: set[str] = set()
    try:
        for written in family.source(context) if family.source else ():
            known = written.topic and is_resolved(written.topic)
            topics = routing.routed(written.topic) if known else {written.topic: False}
            # Where a transform makes the topic unknown, the dataset is still read.
            for topic, by_name in (topics or {"": False}).items():
                if topic != written.topic and not (by_name or written.by_name):
                    renamed.add(topic)
                flows.add(
                    written.dataset,
                    topic,
                    source_by_name=written.dataset_by_name,
                    by_name=by_name or written.by_name,
                )
    except BadRegexError as error:
        context.warnings.append(f"cannot apply {error}")
    # A transform may send the records of a table to a topic with the name of one of bookkeeping.
    internal = dict.fromkeys(topic for topic in context.internal if topic not in renamed)
    flows.drop(internal)
    if family.has_dataset and flows.open_targets:
        context.warnings.append(
            f"what {', '.join(flows.open_targets[:3])} is made of is not known from the configuration"
        )
    if not flows.inputs and not context.warnings:
        context.warnings.append(f"its topics are not known from the configuration ({family.name})")
    dlq = config.get("mongo.errors.deadletterqueue.topic.name")
    reports = report_topics(connector, config, cluster_topics)
    return ConnectorLineage(
        direction="source",
        family=family.name,
        topics_written=_unique([*flows.targets, dlq, *reports]),
        datasets_read=flows.sources,
        pairs=flows.pairs,
        dlq_topics=_unique([dlq]),
        report_topics=_unique(reports),
        internal_topics=_unique(internal),
        confidence=routing.confidence,
        inferred=flows.inferred,
        warnings=_unique([*context.warnings, *routing.warnings, *flows.warnings("topics or datasets")]),
        unknown=_kinds(
            transform=bool(routing.warnings),
            topics=flows.has_lost_inputs or not any(flows.targets),
            datasets=family.has_dataset and bool(flows.open_targets),
        ),
    )


def _sink(
    connector: ConnectorRecord, config: Config, family: Family, cluster_topics: ExistingTopics
) -> ConnectorLineage:
    warnings: list[str] = []
    topics = sink_topics(config, cluster_topics, warnings, family.topics)
    dlq = dlq_topic(connector, config, cluster_topics)
    reports = report_topics(connector, config, cluster_topics)
    routing = routing_of(config, cluster_topics)
    context = SinkContext(connector, config, topics, warnings)
    flows = _Flows()
    try:
        for topic in topics:
            if routing.drops(topic):
                continue
            routed = routing.route_target(topic)
            for dataset in _targets(family, context, routed) if routed else _common_targets(family, context):
                flows.add(topic, dataset)
    except BadRegexError as error:
        warnings.append(f"cannot apply {error}")
    if topics and not flows.targets and family.has_dataset:
        warnings.append(f"its target is not known from the configuration ({family.name})")
    return ConnectorLineage(
        direction="sink",
        family=family.name,
        topics_read=_unique(topics),
        topics_written=_unique([dlq, *reports]),
        datasets_written=flows.targets,
        pairs=flows.pairs,
        dlq_topics=_unique([dlq]),
        report_topics=_unique(reports),
        confidence=routing.confidence,
        warnings=_unique([*warnings, *routing.warnings, *flows.warnings("datasets")]),
        unknown=_kinds(
            transform=bool(routing.warnings),
            topics=bool(flows.open_targets),
            datasets=family.has_dataset and flows.has_lost_inputs,
        ),
    )


def _targets(family: Family, context: SinkContext, topic: str) -> list[str]:
    found = family.sink(context, topic) if family.sink else ""
    return [found] if isinstance(found, str) else [*found]


def _common_targets(family: Family, context: SinkContext) -> list[str]:
    """The targets of a sink that writes all topics to the same, for a topic whose name is not known."""
    first, second = (_targets(family, replace(context, warnings=[]), name) for name in _ANY_TOPICS)
    return first if first == second else [""]


def _unknown(
    connector: ConnectorRecord,
    config: Config,
    class_name: str,
    direction: str,
    cluster_topics: ExistingTopics,
) -> ConnectorLineage:
    """Read the keys that all Kafka Connect connectors share, and warn that the rest is unknown."""
    warnings = [f"unknown connector class {class_name or '(none)'}: its external datasets are not known"]
    read: list[str] = []
    written: list[str] = []
    dlq = ""
    if direction == "sink":
        read = sink_topics(config, cluster_topics, warnings)
        dlq = dlq_topic(connector, config, cluster_topics)
        written = [dlq]
    else:
        routing = routing_of(config, cluster_topics)
        topics = config.items("kafka.topic", "topic", "topics")
        written = [routed for topic in topics for routed in routing.route(topic)]
    return ConnectorLineage(
        direction=direction,
        topics_read=_unique(read),
        topics_written=_unique(written),
        dlq_topics=_unique([dlq]),
        confidence=_UNKNOWN_CLASS,
        warnings=tuple(warnings),
        unknown=(Unknown.CLASS,),
    )


def _kinds(*, transform: bool, topics: bool, datasets: bool) -> tuple[Unknown, ...]:
    found = {Unknown.TRANSFORM: transform, Unknown.TOPICS: topics, Unknown.DATASETS: datasets}
    return tuple(kind for kind, is_unknown in found.items() if is_unknown)


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, items)))
