"""`lineage-bridge topics`: what would happen to the tables of topics, how they are, and replays."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_bridge_dagster.cli.output import EXIT_FAILED, err
from lineage_bridge_dagster.cli.readable import ReadableGroup
from lineage_bridge_dagster.cli.topics_replay import replay

if TYPE_CHECKING:
    from lineage_bridge_dagster.confluent.cluster_connection import ClusterConnection
    from lineage_bridge_dagster.topic_to_iceberg.settings.topic_instance import TopicInstance
    from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
    from lineage_bridge_dagster.topic_to_iceberg.survey import TablePlan, TableStatus

_instance = click.argument("instance", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON line for each table on stdout.")


@click.command()
@_instance
@_json
def plan(instance: Path, as_json: bool) -> None:
    """Show what a run of INSTANCE, a defs.yaml, would do to its tables before it writes rows.

    Lists tables that would be created with their columns, columns that would be added or widened, and topics
    that would be suspended, because their schema cannot be a table's or has changed in a way that the table
    cannot follow. Writes nothing, reads no records, and needs no Spark.

    Exits 0; 1 if a topic would be suspended, could not be read, or shares its table with another; 2 for wrong
    settings.

    \b
    Examples:
      lineage-bridge topics plan defs/orders/defs.yaml
      lineage-bridge topics plan defs/orders/defs.yaml --json | jq -r 'select(.error) | .topic'
    """
    from lineage_bridge_dagster.topic_to_iceberg.survey import plans

    read, connection, loads, known, collisions = _topics(instance)
    failed = bool(collisions)
    for each in plans(loads, read.settings.all_catalogs(), connection, known):
        failed = failed or each.error is not None
        click.echo(json.dumps(_plan_json(each)) if as_json else _plan_text(each))
    if failed:
        raise SystemExit(EXIT_FAILED)


@click.command()
@_instance
@_json
def status(instance: Path, as_json: bool) -> None:
    """Show how far the tables of INSTANCE, a defs.yaml, are: offsets, lag and the last commit.

    Reads the tables' snapshots and the topics' offsets; writes nothing, and needs no Spark.

    Exits 0; 1 if a table or a topic could not be read; 2 for wrong settings.

    \b
    Examples:
      lineage-bridge topics status defs/orders/defs.yaml
      lineage-bridge topics status defs/orders/defs.yaml --json | jq 'select(.lag > 1000)'
    """
    from lineage_bridge_dagster.confluent.api.brokers import TopicReader
    from lineage_bridge_dagster.topic_to_iceberg.survey import statuses

    read, connection, loads, _, _ = _topics(instance)
    failed = False
    bounds = TopicReader(connection.bootstrap).committed_bounds
    for each in statuses(loads, read.settings.all_catalogs(), bounds):
        failed = failed or each.error is not None
        click.echo(json.dumps(_status_json(each)) if as_json else _status_text(each))
    if failed:
        raise SystemExit(EXIT_FAILED)


def _topics(instance: Path) -> tuple[TopicInstance, ClusterConnection, list[TopicLoad], set[str], bool]:
    """The instance, its cluster, its topics, those of the cluster, and whether some share a table."""
    from lineage_bridge_dagster.confluent.api.brokers import TopicReader
    from lineage_bridge_dagster.confluent.cluster_connection import connect
    from lineage_bridge_dagster.topic_to_iceberg.settings.topic_instance import read_topic_instance

    read = read_topic_instance(instance)
    connection = connect(read.settings.confluent, read.kafka)
    known = TopicReader(connection.bootstrap).topics()
    plan = read.plan(connection.cluster_id)
    collisions = plan.collisions(known)
    for collision in collisions:
        err.print(
            f"{collision}; only {collision.topics[0]} is loaded. Give the others a table of their own.",
            style="yellow",
            markup=False,
        )
    return read, connection, plan.loads(known), set(known), bool(collisions)


def _plan_text(plan: TablePlan) -> str:
    load, error = plan.load, plan.error
    title = f"{load.topic} -> {load.dotted} ({load.mode})"
    if error is not None:
        hint = f"\n  -> {error.hint}" if error.hint else ""
        outcome = "would be suspended" if plan.is_suspended else "could not be read"
        return f"{title}: {outcome}\n  {error.message}{hint}"
    if not plan.exists:
        return "\n".join((f"{title}: would be created", *(f"  {line}" for line in plan.changes)))
    if not plan.changes:
        return f"{title}: no change to the table"
    return "\n".join((f"{title}: would change", *(f"  {line}" for line in plan.changes)))


def _plan_json(plan: TablePlan) -> dict[str, Any]:
    load = plan.load
    return {
        "topic": load.topic,
        "table": load.dotted,
        "mode": load.mode,
        "exists": plan.exists,
        "changes": list(plan.changes),
        "error": plan.error.reason if plan.error else None,
    }


def _status_text(status: TableStatus) -> str:
    title = f"{status.load.topic} -> {status.load.dotted}"
    if status.error is not None:
        return f"{title}: {status.error}"
    if not status.exists:
        return f"{title}: no table yet, {status.lag:,} records wait"
    committed = _time(status.committed_ms)
    when = f"last commit {committed}" if committed else "no commit yet"
    lines = [f"{title}: {status.lag:,} records behind, {when}"]
    for partition, end in sorted(status.ends.items()):
        at = status.offsets.get(partition, status.firsts.get(partition, 0))
        lines.append(f"  partition {partition}: {at:,} of {end:,}")
    return "\n".join(lines)


def _status_json(status: TableStatus) -> dict[str, Any]:
    known = status.error is None
    return {
        "topic": status.load.topic,
        "table": status.load.dotted,
        "exists": status.exists if known else None,
        "lag": status.lag if known else None,
        "offsets": {str(p): at for p, at in sorted(status.offsets.items())},
        "ends": {str(p): at for p, at in sorted(status.ends.items())},
        # As text: a program that reads JSON's numbers as floats would round it.
        "snapshot_id": str(status.snapshot_id) if status.snapshot_id is not None else None,
        "committed_at": _time(status.committed_ms) or None,
        "error": status.error.reason if status.error else None,
    }


def _time(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


@click.group(cls=ReadableGroup)
def topics() -> None:
    """Topics that are loaded into Iceberg tables."""


for _command in (plan, status, replay):
    topics.add_command(_command)
