"""A connector that gets another configuration: what it writes from then on.

Sources: Confluent's pages on the JDBC and S3 sinks and on Debezium's source connectors. A setting that is in
none of these tables changes how a connector runs (tasks, batches, retries) and not what it writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.impact.connector_columns import passed_columns, rewritten_columns
from lineage_bridge_dagster.impact.connector_flows import ConnectorFlow
from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.rules.connect import family_name, sink_reaction
from lineage_bridge_dagster.impact.schema_diff import SchemaField
from lineage_bridge_dagster.impact.world import NodeRef

_ROWS: Mapping[str, str] = {
    "insert.mode": "rows are written differently",
    "delete.enabled": "rows are deleted differently",
    "pk.mode": "rows are identified differently",
    "pk.fields": "rows are identified differently",
    "behavior.on.null.values": "records without a value are handled differently",
    "write.method": "rows are written differently",
    "query": "other rows are read",
    "mode": "other rows are read",
    "message.key.columns": "records have other keys",
    "skipped.operations": "different operations are captured",
}
"""Settings that decide on rows, or on all columns."""
_INPUT_FORMATS = ("input.data.format", "value.converter", "input.key.format", "key.converter")
_OUTPUT_FORMATS = ("output.data.format", "format.class")
REGISTERED = frozenset({"AVRO", "JSON_SR", "PROTOBUF"})
"""Formats whose schemas are in the registry."""
_FORMATS: Mapping[str, str] = {
    "io.confluent.connect.avro.AvroConverter": "AVRO",
    "io.confluent.connect.json.JsonSchemaConverter": "JSON_SR",
    "io.confluent.connect.protobuf.ProtobufConverter": "PROTOBUF",
    "org.apache.kafka.connect.json.JsonConverter": "JSON",
    "org.apache.kafka.connect.storage.StringConverter": "STRING",
}
_MASKS = re.compile(r"column\.(mask|truncate)\..*")


def config_deltas(
    old: ConnectorFlow, new: ConnectorFlow, fields: Mapping[NodeRef, Mapping[str, SchemaField]]
) -> Iterator[tuple[NodeRef, NodeDelta]]:
    """What differs in the outputs of a connector."""
    for before in old.job.outputs:
        after = new.job.output(before.node)
        if after is None:
            reason = f"{new.job.node.name} no longer writes it"
            yield before.node, NodeDelta(DeltaKind.ROWS_LOST, reason=reason)
            continue
        lost = sorted(before.inputs - after.inputs)
        if lost:
            yield before.node, NodeDelta(DeltaKind.ROWS_LOST, reason=f"{lost[0].name} is no longer read")
        rows = [why for key, why in _ROWS.items() if old.config.get(key) != new.config.get(key)]
        if _filters(old.config) != _filters(new.config):
            rows.append("different records are filtered out")
        if rows:
            yield before.node, NodeDelta(DeltaKind.MEANING, None, rows[0])
        topics = [before.node] if old.is_source else sorted(before.inputs & after.inputs)
        for topic in topics:
            found = _columns(old, new, topic, before.inputs, fields.get(topic, {}))
            yield from ((before.node, delta) for delta in found)
        if old.is_source:
            yield from ((before.node, delta) for delta in _tombstones(old.config, new.config))
        elif any(old.config.get(key) != new.config.get(key) for key in _OUTPUT_FORMATS):
            reason = "files are written in a different format"
            yield before.node, NodeDelta(DeltaKind.TYPE, None, reason, "a", "b")


def decoding_problem(old: Config, new: Config) -> str:
    """Why a sink can no longer read its topics; empty if it can."""
    for key in _INPUT_FORMATS:
        if key in old and old.get(key) != new.get(key):
            return f"{key} is no longer {old.get(key).rpartition('.')[2]}, as the records are"
    return ""


def written_format(old: Config, new: Config) -> tuple[str, str] | None:
    """The formats of a source connector's values before and after; None if unchanged."""
    before, after = (
        config.get("output.data.format") or _FORMATS.get(config.get("value.converter"), "")
        for config in (old, new)
    )
    return (before, after) if before and after and before != after else None


def excluded_columns(config: Config, datasets: Iterable[NodeRef], columns: Iterable[str]) -> set[str]:
    """The columns that a Debezium connector leaves out of its events."""
    excluded = _compiled(config.items("column.exclude.list", "column.blacklist"))
    included = _compiled(config.items("column.include.list", "column.whitelist"))
    names = [dataset.name.rpartition("/")[2] for dataset in datasets]
    return {
        column
        for column in columns
        if _matches(excluded, names, column) or (included and not _matches(included, names, column))
    }


def _columns(
    old: ConnectorFlow,
    new: ConnectorFlow,
    topic: NodeRef,
    datasets: Iterable[NodeRef],
    fields: Mapping[str, SchemaField],
) -> Iterator[NodeDelta]:
    if old.is_source:
        before, after = rewritten_columns(old.config, new.config, fields)
    else:
        before, after = (passed_columns(flow.config, fields) for flow in (old, new))
    gone = DeltaKind.REMOVED if old.is_source else DeltaKind.NULLED
    if old.is_source:
        datasets = [*datasets]
        left_out = excluded_columns(new.config, datasets, fields)
        left_out -= excluded_columns(old.config, datasets, fields)
        masked = _masked(new.config, datasets, fields) ^ _masked(old.config, datasets, fields)
        after = {name: of for name, of in after.items() if not of.columns & left_out}
        for name in sorted(masked):
            yield NodeDelta(DeltaKind.MEANING, name, f"{name} is masked differently")
    for name, of in before.items():
        if name not in after:
            yield NodeDelta(gone, name, f"{name} is left out")
        elif of.columns != after[name].columns:
            yield NodeDelta(DeltaKind.MEANING, name, f"{name} comes from a different field")
        elif of.how != after[name].how:
            if "cast" in f"{of.how} {after[name].how}":
                yield NodeDelta(DeltaKind.TYPE, name, f"{name} has another type", of.how, after[name].how)
            else:
                yield NodeDelta(
                    DeltaKind.MEANING, name, f"{name} has other values: {after[name].how or 'its own'}"
                )
    added = [name for name in after if name not in before]
    for name in added:
        delta = NodeDelta(DeltaKind.ADDED, name, f"{name} is added")
        if old.is_source:
            yield delta
        else:
            reaction = sink_reaction(new.job, _plain(new.config), topic, [delta], fields)
            yield from (each for node, each in reaction.outputs if each.kind is DeltaKind.ADDED)


def _plain(config: Config) -> Config:
    """A configuration without transforms, which have been applied."""
    keys = set(config.keys()) - {"transforms"}
    return Config({key: config.get(key) for key in keys})


def _filters(config: Config) -> set[tuple[str, str]]:
    """The settings of the transforms that leave records out, with their predicates."""
    prefixes = [f"transforms.{label}." for label in config.items("transforms")]
    filters = [p for p in prefixes if re.search(r"\.Filter(\$\w+)?$", config.get(f"{p}type"))]
    filters += [f"predicates.{name}." for p in filters if (name := config.get(f"{p}predicate"))]
    return {(key, config.get(key)) for key in config.keys() for p in filters if key.startswith(p)}  # noqa: SIM118


def _tombstones(old: Config, new: Config) -> Iterator[NodeDelta]:
    if not family_name(new).startswith("debezium"):
        return
    before, after = (config.flag("tombstones.on.delete", default=True) for config in (old, new))
    if after and not before:
        yield NodeDelta(DeltaKind.TOMBSTONES, None, "a deletion is followed by a record without a value")
    elif before and not after:
        reason = "deletions are no longer followed by a record without a value"
        yield NodeDelta(DeltaKind.DELETES_LOST, None, reason)


def _masked(config: Config, datasets: Iterable[NodeRef], columns: Iterable[str]) -> set[str]:
    patterns = [item for key in config.keys_like(_MASKS) for item in config.items(key.string)]
    names = [dataset.name.rpartition("/")[2] for dataset in datasets]
    return {column for column in columns if _matches(_compiled(patterns), names, column)}


def _compiled(patterns: Iterable[str]) -> list[re.Pattern[str]]:
    found = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern, re.IGNORECASE))
        except re.error:
            found.append(re.compile(re.escape(pattern), re.IGNORECASE))
    return found


def _matches(patterns: Iterable[re.Pattern[str]], tables: Iterable[str], column: str) -> bool:
    """Whether a pattern is the column's full name, with or without the database."""
    names = [name for table in tables for name in (table, table.partition(".")[2])]
    return any(pattern.fullmatch(f"{name}.{column}") for pattern in patterns for name in names)
