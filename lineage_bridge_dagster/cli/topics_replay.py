"""`lineage-bridge topics replay`: sends dead letters again."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.output import EXIT_FAILED, color, err
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.text import counted, plural

if TYPE_CHECKING:
    from lineage_bridge_dagster.topic_to_iceberg.dead_letters.plan import Decision
    from lineage_bridge_dagster.topic_to_iceberg.dead_letters.replay import Report

_COLORS = {"send": "green", "sent": "green", "held": "yellow", "superseded": "yellow", "failed": "red"}

#: Letters of one outcome that are printed one by one.
_MAX_LINES = 20

_PLACES = re.compile(r"(\d+):(\d+)-(\d+)")


@click.command()
@click.argument("topic")
@click.option(
    "--cluster",
    required=True,
    metavar="C",
    help="Cluster: its id or name in Confluent Cloud, or "
    "the name of a self-managed one in the YAML of the component.",
)
@click.option("--environment", default="", metavar="E", help="Id or name of the cluster's environment.")
@click.option(
    "--bootstrap-servers",
    default="",
    metavar="S",
    help="Addresses of a self-managed cluster's brokers, as [PROTOCOL://]host:port.",
)
@click.option(
    "--topic", "topics", multiple=True, metavar="T", help="Only records of this topic; can be repeated."
)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="DB.TABLE",
    help="Only records that this table rejected; can be repeated.",
)
@click.option("--error", default="", metavar="TEXT", help="Only letters with this text in their error.")
@click.option("--since", metavar="TIME", help="Only records rejected at or after this ISO 8601 time.")
@click.option("--until", metavar="TIME", help="Only records rejected before this ISO 8601 time.")
@click.option(
    "--offsets",
    "places",
    multiple=True,
    metavar="PARTITION:FROM-TO",
    help="Only letters with these offsets in the dead letter topic; can be repeated.",
)
@click.option(
    "--timestamp",
    type=click.Choice(["original", "now"]),
    default="original",
    show_default=True,
    help="The time of the records that are sent.",
)
@click.option(
    "--unchecked",
    is_flag=True,
    help="Also send letters for which it is unknown whether a newer record has their key.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Maximum number of records a second.",
)
@click.option("--apply", "apply_", is_flag=True, help="Send the letters; without it they are only listed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def replay(
    topic: str,
    cluster: str,
    environment: str,
    bootstrap_servers: str,
    topics: tuple[str, ...],
    tables: tuple[str, ...],
    error: str,
    since: str | None,
    until: str | None,
    places: tuple[str, ...],
    timestamp: str,
    unchecked: bool,
    rate: float | None,
    apply_: bool,
    as_json: bool,
) -> None:
    """Send the dead letters of TOPIC again, each to its own topic.

    Without --apply it shows what would be sent. A record is sent to its partition with its key, its value
    and its headers, and one more header that counts. A letter is sent once: the dead letter topic records
    it, in the transaction that sends the record, so the command can be interrupted and run again.

    A record that is sent again becomes the newest one of its key. Where tables have a row for each key, or
    the topic is compacted, a letter is therefore not sent if a newer record has its key (superseded), or if
    this is unknown because the records in between are gone (held).

    Exits 0 if nothing failed; 1 if a letter failed or is held; 2 for wrong options or settings.

    \b
    Examples:
      lineage-bridge topics replay error_log --cluster lkc-abc123
      lineage-bridge topics replay error_log --cluster lkc-abc123 --table sales.orders \\
        --error "schema id 100042" --apply
      lineage-bridge topics replay orders.errors --cluster local \\
        --bootstrap-servers 127.0.0.1:9092 --offsets 0:120-180 --rate 50 --apply
    """
    from lineage_bridge_dagster.confluent.cluster_connection import connect
    from lineage_bridge_dagster.confluent.cluster_settings import KafkaConfig
    from lineage_bridge_dagster.settings import Settings
    from lineage_bridge_dagster.topic_to_iceberg.dead_letters.plan import Rules
    from lineage_bridge_dagster.topic_to_iceberg.dead_letters.reading import KafkaSource
    from lineage_bridge_dagster.topic_to_iceberg.dead_letters.replay import Replay
    from lineage_bridge_dagster.topic_to_iceberg.dead_letters.sender import replay_producer
    from lineage_bridge_dagster.topic_to_iceberg.dead_letters.survey import LetterSelection

    selection = LetterSelection(
        frozenset(topics),
        frozenset(tables),
        error,
        _time("--since", since),
        _time("--until", until),
        dict(map(_place, places)),
    )
    settings = Settings.from_env(groups=["confluent"]).confluent
    kafka = KafkaConfig(environment=environment, cluster=cluster, bootstrap_servers=bootstrap_servers)
    with err.status("Connecting") as status:
        connection = connect(settings, kafka)
        work = Replay(
            topic,
            KafkaSource(connection.bootstrap, timeout_seconds=settings.timeout_seconds),
            selection,
            Rules(unchecked, timestamp == "original"),
            cluster=connection.cluster_id,
            progress=lambda what, count: status.update(f"{what}: {count:,}"),
        )
        report = (
            work.apply(lambda: replay_producer(connection.bootstrap, topic), rate) if apply_ else work.plan()
        )
    if as_json:
        click.echo(json.dumps(_json(report), ensure_ascii=False))
    else:
        _print(report, topic, applied=apply_)
    if report.counts.keys() & {"failed", "held"}:
        raise SystemExit(EXIT_FAILED)


def _time(option: str, text: str | None) -> datetime | None:
    from lineage_bridge_dagster.lineage.times import parse_iso

    found = parse_iso(text) if text else None
    if text and found is None:
        raise ConfigurationError(
            f"{option} is not a valid time: {text!r}.",
            hint="Write ISO 8601, for example 2026-04-30T12:00:00Z.",
        )
    return found


def _place(text: str) -> tuple[int, tuple[int, int]]:
    found = _PLACES.fullmatch(text)
    if found is None:
        raise ConfigurationError(
            f"--offsets is not a range: {text!r}.", hint="Write PARTITION:FROM-TO, for example 0:120-180."
        )
    partition, low, high = map(int, found.groups())
    return partition, (low, high)


def _print(report: Report, topic: str, *, applied: bool) -> None:
    printed: dict[str, int] = {}
    for one in report.decisions:
        printed[one.outcome] = printed.get(one.outcome, 0) + 1
        if printed[one.outcome] <= _MAX_LINES:
            click.secho(_line(one), fg=_COLORS.get(one.outcome), color=color())
    for outcome, count in printed.items():
        if count > _MAX_LINES:
            click.echo(f"... and {count - _MAX_LINES:,} more {outcome}; --json lists all")
    survey = report.survey
    known = f"{topic} has {plural(len(survey.letters), 'dead letter')}"
    twice = f", {survey.repeated:,} of them stored more than once" if survey.repeated else ""
    others = f", and {plural(survey.others, 'other record')}" if survey.others else ""
    click.echo(f"{known}{twice}{others}. Selected: {counted(dict(report.counts.items())) or 'none'}.")
    if not applied and (pending := report.counts.get("send")):
        click.echo(f"Add --apply to send {plural(pending, 'record')}.")


def _line(one: Decision) -> str:
    entry = one.entry
    where = f"{entry} -> {', '.join(entry.tables)}"
    now = f" now at offset {one.offset}" if one.offset is not None else ""
    again = f" (rejected {entry.attempt} times)" if entry.attempt > 1 else ""
    return f"{one.outcome:<10} {where}{now}  {one.reason or entry.error}{again}"


def _json(report: Report) -> dict[str, object]:
    return {
        "counts": report.counts,
        "letters": list(map(_fields, report.decisions)),
        "stored_again": report.survey.repeated,
        "other_records": report.survey.others,
    }


def _fields(one: Decision) -> dict[str, object]:
    from lineage_bridge_dagster.lineage.times import iso_or_none

    entry = one.entry
    return {
        "outcome": one.outcome,
        "reason": one.reason,
        "sent_to_offset": one.offset,
        "identity": entry.identity,
        "topic": entry.topic,
        "partition": entry.partition,
        "offset": entry.offset,
        "tables": entry.tables,
        "kind": entry.kind,
        "error": entry.error,
        "rejected_at": iso_or_none(entry.at),
        "attempt": entry.attempt,
        "dead_letter": {"partition": entry.place[0], "offset": entry.place[1]},
    }
