"""A connector over a topic, or an outside dataset, that changes.

A sink reads each record with the schema that it was written with, so a topic's new types do not stop it, only
what its system makes of them. Sources: Confluent's pages on the JDBC sink (auto-creation and auto-evolution,
delete mode), the S3 sink (`schema.compatibility`, partitioners) and the other sinks' schema evolution; Kafka
Connect's error handling: a sink with a dead letter queue reports records that it cannot write and goes on. A
source passes on what a sink has written to its dataset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import family_of
from lineage_bridge_dagster.impact.connector_columns import passed_columns
from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta, overlap
from lineage_bridge_dagster.impact.flows import FlowJob
from lineage_bridge_dagster.impact.rules.reaction import Reaction, broken, silent
from lineage_bridge_dagster.impact.schema_diff import SchemaField
from lineage_bridge_dagster.impact.world import NodeRef

RELATIONAL = ("jdbc", "debezium-jdbc", "redshift", "spanner")
"""Families of sinks that write SQL tables with columns of fixed types."""
_FILES = ("s3", "gcs", "azure-blob", "azure-data-lake", "hdfs")
_EVOLVES: Mapping[str, tuple[str, ...]] = {
    "snowflake": ("snowflake.enable.schematization", "enable.schema.evolution"),
    "iceberg": ("iceberg.tables.evolve-schema-enabled",),
    "bigquery": ("auto.update.schemas", "allow.new.big.query.fields", "allowNewBigQueryFields"),
    "clickhouse": ("schema.evolution",),
}
"""Families whose tables take a new column only if a setting says so; all others take any."""
_ON = frozenset({"true", "add new fields", "enabled"})
_RAW = frozenset({"BYTES", "io.confluent.connect.s3.format.bytearray.ByteArrayFormat"})


def sink_reaction(
    job: FlowJob,
    config: Config,
    topic: NodeRef,
    deltas: Sequence[NodeDelta],
    fields: Mapping[str, SchemaField],
) -> Reaction:
    """What happens to a sink and to its datasets."""
    names: list[str] = [*fields, *(delta.column for delta in deltas if delta.column)]
    passed = passed_columns(config, names)
    outputs = [output for output in job.outputs if topic in output.inputs]
    reaction = Reaction()
    for delta in deltas:
        targets = [name for name, of in passed.items() if delta.column and delta.column in of.columns]
        if delta.column is not None and not targets:
            reaction.gap = reaction.gap or next((of.unknown for of in passed.values() if of.unknown), "")
            continue
        problem = _problem(config, delta, fields)
        if problem:
            if is_quiet(config):
                reason = f"stays RUNNING, but its records go to the dead letter queue: {problem}"
                return silent(outputs, delta, reason, delta.column)
            return broken(job, delta, problem)
        match delta.kind:
            case DeltaKind.ROWS_LOST:
                found = silent(outputs, delta, "receives no new records")
                reaction.add(found.own[0], found.outputs)
            case DeltaKind.REMOVED | DeltaKind.NULLED:
                null = NodeDelta(DeltaKind.NULLED, delta.column, f"writes no {delta.column}", path=delta.path)
                lost = [null.at(name, reason=f"{name} is NULL in new rows") for name in targets]
                reaction.add(null, [(o.node, each) for o in outputs for each in lost])
            case DeltaKind.MEANING:
                other = [(o.node, delta.at(name)) for o in outputs for name in targets or (None,)]
                reaction.add(delta.at(delta.column, reason="passes on the changed values"), other)
            case DeltaKind.ADDED if _takes_columns(config):
                reaction.outputs += [(o.node, delta.at(name)) for o in outputs for name in targets]
            case DeltaKind.TYPE if delta.before != delta.after:
                reaction.outputs += [(o.node, delta.at(name)) for o in outputs for name in targets]
            case DeltaKind.TOMBSTONES | DeltaKind.DELETES_LOST if config.flag("delete.enabled"):
                gone = delta.kind is DeltaKind.DELETES_LOST
                reason = f"rows are {'no longer deleted' if gone else 'deleted from now on'}"
                rows = NodeDelta(DeltaKind.MEANING, None, reason, path=delta.path)
                reaction.outputs += [(o.node, rows) for o in outputs]
    return reaction


def is_quiet(config: Config) -> bool:
    """Whether a sink goes on after a record that it cannot write. Managed ones do unless told otherwise."""
    managed = "." not in config.get("connector.class")
    tolerant = config.get("errors.tolerance", default="all" if managed else "none").lower() == "all"
    return tolerant and (managed or "errors.deadletterqueue.topic.name" in config)


def family_name(config: Config) -> str:
    """The family of a connector; empty if its class is unknown."""
    family = family_of(config.get("connector.class", "confluent.custom.connector.class"))
    return family.name if family else ""


def _problem(config: Config, delta: NodeDelta, fields: Mapping[str, SchemaField]) -> str:
    """Why a sink cannot write a record that differs so; empty if it can."""
    name, column = family_name(config), delta.column or ""
    keys = config.items("pk.fields")
    decides = (*config.items("partition.field.name"), *config.items("timestamp.field"))
    if delta.kind is DeltaKind.REMOVED and any(overlap(column, each) for each in decides):
        return f"its partitioner needs {column}"
    if delta.kind is DeltaKind.UNREADABLE and not _is_undecoded(config):
        return delta.reason
    if not name.startswith(RELATIONAL):
        return ""
    match delta.kind:
        case DeltaKind.REMOVED if column in keys or (delta.is_key and config.get("pk.mode") == "record_key"):
            return f"{column} is part of the table's primary key"
        case DeltaKind.REMOVED if "." not in column and (before := fields.get(column)):
            if not before.nullable and not before.default:
                return f"the table's column {column} is NOT NULL, and new records do not have it"
        case DeltaKind.ADDED if "." not in column:
            if not config.flag("auto.evolve"):
                return f"the table has no column {column}, and auto.evolve is off"
            if not delta.nullable and not delta.default:
                return f"auto.evolve cannot add {column}: it is neither optional nor has a default"
        case DeltaKind.TYPE if delta.before != delta.after:
            return f"the table's column {column} keeps its type, {delta.before}"
        case DeltaKind.TOMBSTONES if not config.flag("delete.enabled"):
            return "it cannot write records without a value while delete.enabled is off"
    return ""


def _is_undecoded(config: Config) -> bool:
    """Whether a sink passes on records as they are."""
    read = config.get("input.data.format", "value.converter").rpartition(".")[2]
    return read in ("BYTES", "STRING", "ByteArrayConverter", "StringConverter")


def _takes_columns(config: Config) -> bool:
    """Whether the target gets a column for a new field."""
    name = family_name(config)
    if name in _FILES:
        raw = config.get("output.data.format", "format.class") in _RAW
        return not raw and config.get("schema.compatibility", default="NONE").upper() != "FORWARD"
    keys = _EVOLVES.get(name)
    return keys is None or config.get(*keys).lower() in _ON


def source_reaction(job: FlowJob, dataset: NodeRef, deltas: Sequence[NodeDelta]) -> Reaction:
    """What happens to a source connector and to its topics."""
    outputs = [output for output in job.outputs if dataset in output.inputs]
    reaction = Reaction()
    for delta in deltas:
        if delta.kind is DeltaKind.ROWS_LOST:
            found = silent(outputs, delta, "captures no new rows")
            reaction.add(found.own[0], found.outputs)
        elif delta.kind in (DeltaKind.NULLED, DeltaKind.MEANING):
            passed = [(output.node, delta) for output in outputs]
            reaction.add(delta.at(delta.column, reason="passes on the changed values"), passed)
        elif delta.kind in (DeltaKind.ADDED, DeltaKind.TYPE):
            reaction.outputs += [(output.node, delta) for output in outputs]
    return reaction
