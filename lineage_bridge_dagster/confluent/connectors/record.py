"""The input and output of `resolve`: a connector's record, the topics of its cluster, and its lineage."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from lineage_bridge_dagster.lineage.unknowns import Unknown


@dataclass(frozen=True, slots=True)
class ConnectorRecord:
    """One connector, as listed by the Connect API (`connect-v1`, `expand=info,status,id`).

    `type` is `info.type`, else `status.type`, but never the configuration's own `type`, which may be wrong.
    `id` is the `lcc-...` of a managed connector, None for a self-managed one.
    """

    name: str
    type: str = ""
    id: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    state: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorOffset:
    """Where a connector stands in one partition of what it reads (`connect-v1`, `ConnectorOffsets.offsets`).

    Both are objects of the connector's own: `{"kafka_topic", "kafka_partition"}` of every sink, and, for
    example, `{"protocol", "table"}` of a JDBC source.
    """

    partition: Mapping[str, Any]
    offset: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ConnectorLineage:
    """What a connector reads and writes by its configuration, and by its offsets if they were asked.

    Topics have the cluster's names; datasets are named as in the OpenLineage spec. `topics_written` includes
    `dlq_topics` and `report_topics` (success and error topics of calls to an API). `internal_topics` are a
    source's own bookkeeping and not lineage. `family` is empty for an unknown class.

    `pairs` tells which input an output is made of: `(dataset, topic)` of a source, `(topic, dataset)` of a
    sink. It is complete for every output that it names; an output that it does not name may be made of any
    input.

    `inferred` are the outputs that are known only because a topic has the name that such an output would
    have, and the datasets that are derived from these names.

    `observed` are the topics and datasets among its inputs that its offsets show it has read. `unknown` are
    the kinds of what all this leaves open; `warnings` say what and why.
    """

    direction: str = ""
    family: str = ""
    topics_read: tuple[str, ...] = ()
    topics_written: tuple[str, ...] = ()
    datasets_read: tuple[str, ...] = ()
    datasets_written: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    dlq_topics: tuple[str, ...] = ()
    report_topics: tuple[str, ...] = ()
    internal_topics: tuple[str, ...] = ()
    confidence: float = 1.0
    warnings: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    unknown: tuple[Unknown, ...] = ()


class ExistingTopics(Collection[str]):
    """All topics of a cluster, sorted.

    A cluster has thousands of topics and thousands of connectors. Make it once for all of them: sorting the
    topics takes longer than reading a configuration.
    """

    def __init__(self, topics: Iterable[str] = ()) -> None:
        self._all = frozenset(topics)
        self._sorted = sorted(self._all)

    @classmethod
    def of(cls, topics: Iterable[str]) -> ExistingTopics:
        """The topics, as they are if they were sorted before."""
        return topics if isinstance(topics, cls) else cls(topics)

    def __contains__(self, topic: object) -> bool:
        return topic in self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._sorted)

    def __len__(self) -> int:
        return len(self._all)

    def starting(self, prefix: str) -> Iterator[str]:
        """The topics that start with a prefix, in order."""
        return _starting(self._sorted, prefix)

    def between(self, prefix: str, suffix: str) -> Iterator[str]:
        """The topics that start with a prefix and end with a suffix that does not overlap it."""
        if len(prefix) >= len(suffix):
            found = self.starting(prefix)
        else:
            found = (topic[::-1] for topic in _starting(self._reversed, suffix[::-1]))
        least = len(prefix) + len(suffix)
        return (
            topic
            for topic in found
            if len(topic) >= least and topic.startswith(prefix) and topic.endswith(suffix)
        )

    @cached_property
    def by_lower_case(self) -> Mapping[str, list[str]]:
        """The topics by their name in lower case."""
        found: dict[str, list[str]] = {}
        for topic in self._sorted:
            found.setdefault(topic.lower(), []).append(topic)
        return found

    @cached_property
    def _reversed(self) -> list[str]:
        return sorted(topic[::-1] for topic in self._all)


def _starting(names: list[str], prefix: str) -> Iterator[str]:
    """The names, of sorted ones, that start with a prefix."""
    for name in islice(names, bisect_left(names, prefix), None):
        if not name.startswith(prefix):
            return
        yield name
