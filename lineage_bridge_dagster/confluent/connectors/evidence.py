"""What a connector was seen to read, where its configuration leaves that open. Pure.

`is_in_doubt` says whose offsets are worth a request, `names_read` what they name, and `with_evidence` what
that makes of the connector's lineage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import family_of
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, full_matches
from lineage_bridge_dagster.confluent.connectors.offsets import OffsetReader, configured, reader_of, texts
from lineage_bridge_dagster.confluent.connectors.record import (
    ConnectorLineage,
    ConnectorOffset,
    ConnectorRecord,
    ExistingTopics,
)
from lineage_bridge_dagster.confluent.connectors.resolve import resolve

#: Start of a managed connector's id. The API has no offsets of custom connectors.
_MANAGED = "lcc-"


def is_in_doubt(connector: ConnectorRecord) -> bool:
    """Whether a managed connector's configuration leaves open what it reads, and its offsets may tell.

    Offsets show inputs: they settle neither the target of a sink nor a transform that depends on the data.
    """
    if not (connector.id or "").startswith(_MANAGED):
        return False
    config = Config(connector.config)
    family = family_of(config.get("connector.class"))
    direction = family.direction if family else connector.type.lower()
    if direction == "sink":
        numbered = family.topics if family else ()
        return not config.items("topics") and not any(list(config.numbered(keys)) for keys in numbered)
    reader = reader_of(family.name) if family else None
    return reader is not None and reader.is_open(config)


def names_read(lineage: ConnectorLineage, offsets: Iterable[ConnectorOffset]) -> tuple[str, ...]:
    """What a connector's offsets name, as they spell it: a sink's topics, a source's tables and the like."""
    found: Iterator[str] = iter(())
    if lineage.direction == "sink":
        found = texts(offset.partition.get("kafka_topic") for offset in offsets)
    elif reader := reader_of(lineage.family):
        found = reader.names(list(offsets))
    return tuple(dict.fromkeys(found))


def with_evidence(
    connector: ConnectorRecord,
    declared: ConnectorLineage,
    names: Collection[str],
    cluster_topics: Collection[str],
    *,
    complete: bool = True,
    topics_complete: bool = True,
) -> ConnectorLineage:
    """The lineage of a connector whose offsets were read.

    Names that its configuration does not cover are left out: they are from an earlier configuration. What
    the configuration names literally stays, whether or not it was read yet.

    Args:
        declared: Its lineage by its configuration alone.
        names: What `names_read` found.
        cluster_topics: The listed topics of its cluster.
        complete: Whether all of its offsets were read. Only then do they show what was not read, so that a
            topic that merely has the name of a table is no longer claimed.
        topics_complete: Whether the cluster has no other topics.
    """
    if declared.direction == "sink":
        return _sink(connector, declared, names, cluster_topics, topics_complete)
    reader = reader_of(declared.family)
    return (
        declared if reader is None else _source(connector, declared, reader, names, cluster_topics, complete)
    )


def _source(
    connector: ConnectorRecord,
    declared: ConnectorLineage,
    reader: OffsetReader,
    names: Iterable[str],
    cluster_topics: Collection[str],
    complete: bool,
) -> ConnectorLineage:
    config = Config(connector.config)
    # A list in a configuration cannot hold a name with a comma.
    covered = sorted(name for name in names if "," not in name and reader.covers(config, name))
    seen = reader.lineage(connector, covered, cluster_topics) if covered else []
    datasets = _union(seen, "datasets_read")
    if not datasets:
        return declared
    rest = declared
    if complete and reader.others is not None:
        others = reader.others(connector, covered)
        rest = resolve(others, cluster_topics) if others else ConnectorLineage()
    parts = [*seen, *([rest] if rest.datasets_read or rest.topics_written else [])]
    own = (*declared.dlq_topics, *declared.report_topics)
    written = tuple(dict.fromkeys((*_union(parts, "topics_written"), *own)))
    warnings = _union(parts, "warnings")
    named = ((part, name) for part in parts for name in (*part.datasets_read, *part.topics_written))
    certain = {name for part, name in named if name not in part.inferred}
    if unread := sorted({*declared.topics_written} - {*written}):
        warnings += (f"named like its tables, but its offsets show no such table: {', '.join(unread)}",)
    return replace(
        declared,
        topics_written=written,
        datasets_read=_union(parts, "datasets_read"),
        pairs=_union(parts, "pairs"),
        warnings=warnings,
        unknown=_union(parts, "unknown"),
        inferred=tuple(name for name in _union(parts, "inferred") if name not in certain),
        observed=datasets,
    )


def _sink(
    connector: ConnectorRecord,
    declared: ConnectorLineage,
    names: Iterable[str],
    cluster_topics: Collection[str],
    topics_complete: bool,
) -> ConnectorLineage:
    topics = ExistingTopics.of(cluster_topics)
    # The offsets of a deleted topic remain for a while.
    found = {name for name in names if name in topics or not topics_complete} - {*declared.topics_written}
    pattern = Config(connector.config).get("topics.regex")
    try:
        found = {*full_matches(pattern, found)} if pattern else found
    except BadRegexError:
        pattern = ""
    if not found:
        return declared
    if not pattern:
        listed = {"topics": ",".join(sorted(found))}
        connector = configured(connector, listed, without=("topics.regex",))
    unlisted = {topic for topic in found if topic not in topics}
    lineage = resolve(connector, {*topics, *unlisted} if unlisted else topics)
    return replace(lineage, observed=tuple(topic for topic in lineage.topics_read if topic in found))


def _union(parts: Sequence[ConnectorLineage], name: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(item for part in parts for item in getattr(part, name)))
