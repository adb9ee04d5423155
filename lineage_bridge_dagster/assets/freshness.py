"""Whether a table lags behind its topic: records that wait, compared with the table's last commit.

A table without new rows is fresh as long as its topic has no new records, however old both are. It is late
when a record waits longer than allowed: by the settings, or, where the table's own commits are further apart,
by multiples of that. Dagster's own freshness policies look at the last materialization, which here is a push
of lineage and unrelated to the data.

Times are Unix milliseconds. With LogAppendTime, a record's time is the broker's; with CreateTime, Kafka's
default, it is the producer's: it may be missing, in the past or in the future. So the check also compares
offsets with those of its last evaluation, and with those that the table's snapshots hold, if their writer
keeps them. If none gives an answer, the outcome is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dagster import AssetCheckKey, AssetExecutionContext

from lineage_bridge_dagster.assets.check_outcomes import NO_TABLE, CheckOutcome
from lineage_bridge_dagster.assets.iceberg_outcomes import NOT_COPIED
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.metadata import FreshnessMetadata
from lineage_bridge_dagster.assets.offset_growth import OFFSETS, OffsetGrowth, last_observations
from lineage_bridge_dagster.assets.run_cache import checked_in_run
from lineage_bridge_dagster.assets.settings import Limits
from lineage_bridge_dagster.assets.table_commits import (
    FRESH,
    Commits,
    commit_metadata,
    commits_of_run,
)
from lineage_bridge_dagster.assets.times import as_text, in_future, now_ms, timestamp
from lineage_bridge_dagster.assets.topic_facts import Backlog, ReadBacklogs
from lineage_bridge_dagster.catalogs.errors import NotFoundError
from lineage_bridge_dagster.catalogs.iceberg.snapshots import Cadence, SnapshotState
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.glue_status import GlueStatus, glue_status, is_in_glue
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import IcebergTableNode, TopicNode
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.text import duration, plural

DESCRIPTION = (
    "No record of the topic waits longer for the table than `freshness` allows. Reads offsets from the "
    "brokers, the table from its catalog, and its Iceberg metadata."
)

_MINUTE = 60_000


def judge_tables(
    tables: Sequence[Node],
    view: GraphView,
    commits: Commits,
    read_backlogs: ReadBacklogs,
    limits: Limits,
    previous: Mapping[str, OffsetGrowth],
    clock: Callable[[], int] = now_ms,
) -> dict[str, CheckOutcome]:
    """Return the outcome for each table, by node id; all topics are read together.

    Args:
        read_backlogs: reads from the brokers; a domain error becomes the outcome of every table.
        previous: what the last check of a table observed of its topic.
    """
    topics = {table.node_id: _topics(table, view) for table in tables}
    since = {
        table.node_id: (topics[table.node_id][0], commit.changed_ms)
        for table in tables
        if len(topics[table.node_id]) == 1 and isinstance(commit := commits.get(table.node_id), SnapshotState)
    }
    requested_ms = clock()
    backlogs = _backlogs_by_table(since, read_backlogs)
    now = clock()
    outcomes = {}
    for table in tables:
        backlog, growth = backlogs.get(table.node_id), previous.get(table.node_id)
        if isinstance(backlog, Backlog):
            growth = OffsetGrowth.observe(backlog.written, growth, requested_ms, now)
        outcome = table_fresh(topics[table.node_id], backlog, commits.get(table.node_id), limits, now, growth)
        if _has_no_table(table, commits.get(table.node_id)):
            outcome = CheckOutcome(True, NO_TABLE)
        elif isinstance(table, IcebergTableNode) and not topics[table.node_id]:
            outcome = CheckOutcome(True, NOT_COPIED, metadata=commit_metadata(commits.get(table.node_id)))
        if growth is not None:
            outcome = replace(outcome, metadata={**outcome.metadata, OFFSETS: growth.metadata})
        link = next((n.url for n in view.sources(table) if n.node_type == NodeType.TABLEFLOW_TABLE), None)
        outcomes[table.node_id] = replace(outcome, link=link or "")
    return outcomes


def _topics(table: Node, view: GraphView) -> list[Node]:
    """The topics whose records should all become rows of the table."""
    if not isinstance(table, IcebergTableNode):
        return view.topics_of(table)
    topic = view.copied_topic(table)
    return [topic] if topic else []


def _has_no_table(table: Node, commit: SnapshotState | LineageBridgeError | None) -> bool:
    """Return whether there is no table, as the discovery or Glue says, so that another check reports it."""
    if is_in_glue(table) or isinstance(commit, SnapshotState):
        return False
    return glue_status(table) is GlueStatus.MISSING or isinstance(commit, NotFoundError)


def _backlogs_by_table(
    since: Mapping[str, tuple[Node, int | None]], read_backlogs: ReadBacklogs
) -> dict[str, Backlog | Exception]:
    """Read the backlog of each table's topic since the table's last commit.

    All topics are read at once, but a topic of several tables once for each, since that table's commit.
    """
    found: dict[str, Backlog | Exception] = {}
    remaining = dict(since)
    while remaining:
        table_of = {topic.node_id: table for table, (topic, _) in remaining.items()}
        try:
            for topic, backlog in read_backlogs([remaining[table] for table in table_of.values()]):
                found[table_of[topic.node_id]] = backlog
        except LineageBridgeError as error:
            return {**found, **dict.fromkeys(remaining, error)}
        for table in table_of.values():
            del remaining[table]
    return found


def freshness_of_run(
    instance: ComponentInstance, context: AssetExecutionContext, limits: Limits
) -> Mapping[str, CheckOutcome]:
    """Return the outcomes for all tables that the run checks for freshness, by node id."""
    inventory = instance.inventory

    def compute() -> Mapping[str, CheckOutcome]:
        checked = set(checked_in_run(context, inventory.tables, FRESH))
        tables = [asset.node for asset in inventory.tables if asset.node.node_id in checked]
        commits = commits_of_run(instance, context)
        context.log.info("Reading the topics of %d tables from the brokers", len(tables))
        check_of = {table.node_id: AssetCheckKey(inventory.key_of[table.node_id], FRESH) for table in tables}
        observed = last_observations(context.instance, check_of.values())
        previous = {node_id: observed[key] for node_id, key in check_of.items() if key in observed}
        read = instance.confluent(context).read_backlogs
        return judge_tables(tables, inventory.view, commits, read, limits, previous)

    return instance.cache.get(context.run.run_id, "freshness", compute)


def table_fresh(
    topics: Sequence[Node],
    backlog: Backlog | Exception | None,
    commit: SnapshotState | LineageBridgeError | None,
    limits: Limits,
    now: int,
    growth: OffsetGrowth | None = None,
) -> CheckOutcome:
    """Judge one table by its topics, the backlog of the topic, the table's last commit and the offsets."""
    if len(topics) != 1:
        return CheckOutcome(
            False,
            f"Unknown: {len(topics)} topics feed this table instead of one.",
            "See tableflow_healthy, and the conflict in the table's metadata if there is one.",
        )
    topic = topics[0]
    if not isinstance(commit, SnapshotState):
        return _unknown("the table's last commit could not be read", commit)
    if not isinstance(backlog, Backlog):
        outcome = _unknown(f"the last record of topic {topic.qualified_name} could not be read", backlog)
        return replace(outcome, metadata=commit_metadata(commit))
    waiting = _waiting_since(backlog, commit, now, growth)
    cadence = None if commit.cadence is None else commit.cadence.interval_ms / _MINUTE
    applied = limits.for_cadence(cadence)
    outcome = _compare(topic, backlog, commit, applied, now, waiting, growth)
    if applied != limits and commit.cadence is not None:
        outcome = replace(outcome, summary=f"{outcome.summary} {_cadence_text(commit.cadence, applied)}")
    return replace(outcome, metadata=_metadata(topic, backlog, commit, now, waiting, applied))


def _compare(
    topic: Node,
    backlog: Backlog,
    commit: SnapshotState,
    limits: Limits,
    now: int,
    waiting: int | None,
    growth: OffsetGrowth | None,
) -> CheckOutcome:
    name = topic.qualified_name
    last = "nothing was committed to it yet"
    if commit.changed_ms is not None:
        last = f"its last commit of rows was at {as_text(commit.changed_ms)}"
    if not backlog.records:
        return CheckOutcome(True, f"Topic {name} has no records; {last}.")
    behind = backlog.behind(commit.offsets)
    if behind == 0:
        return CheckOutcome(True, f"The table has every record of topic {name}, by their offsets; {last}.")
    if behind is not None:
        last = f"the table is {plural(behind, 'record')} behind, and {last}"
    if behind is None and growth is not None and _all_committed(commit, growth):
        return CheckOutcome(True, f"Topic {name} received no record since {as_text(growth.by_ms)}; {last}.")
    late = None if waiting is None else _late(topic, waiting, now, last, limits)
    if late is not None and not late.passed:
        return late
    if backlog.last_ms is not None and in_future(backlog.last_ms, now):
        return CheckOutcome(
            False,
            f"Unknown: the latest record of topic {name} has a time in the future, "
            f"{as_text(backlog.last_ms)}, so times do not show which records are new.",
            "Correct the producer's clock or unit (Kafka expects milliseconds), or set "
            "message.timestamp.type=LogAppendTime on the topic. Until those records expire, the check relies "
            "on the growth of the offsets between its evaluations.",
        )
    if late is not None:
        return late
    if backlog.untimed:
        return CheckOutcome(True, f"No record of topic {name} is newer than the table; {last}.")
    if backlog.last_ms is None:
        return CheckOutcome(
            False,
            f"Unknown: no record of topic {name} has a time, so it cannot be determined which are new.",
            "Set message.timestamp.type=LogAppendTime on the topic, or have its producers set timestamps.",
        )
    when = f"The last record of topic {name} was at {as_text(backlog.last_ms)}"
    if commit.changed_ms is None or backlog.last_ms > commit.changed_ms:
        when += ", in a transaction that was not committed"
    return CheckOutcome(True, f"{when}; {last}.")


def _all_committed(commit: SnapshotState, growth: OffsetGrowth) -> bool:
    """Return whether, by its offsets, the topic received nothing since the table's last commit."""
    return commit.changed_ms is not None and growth.by_ms <= commit.changed_ms


def _waiting_since(
    backlog: Backlog, commit: SnapshotState, now: int, growth: OffsetGrowth | None
) -> int | None:
    """Return when the first new record began to wait, by its time or by the offsets; None if none waits.

    A record cannot have waited before the table was created.
    """
    behind = backlog.behind(commit.offsets)
    if not backlog.records or behind == 0:
        return None
    if behind is None and growth is not None and _all_committed(commit, growth):
        return None
    since = [] if backlog.first_ms is None or in_future(backlog.first_ms, now) else [backlog.first_ms]
    if growth is not None and (behind or (growth.after_ms or 0) > (commit.changed_ms or 0)):
        # Without the table's offsets, only growth that began after the commit is of records that it lacks.
        since.append(growth.by_ms)
    created = commit.updated_ms if commit.changed_ms is None else None
    return max(min(since), created or 0) if since else None


def _late(topic: Node, since: int, now: int, last: str, limits: Limits) -> CheckOutcome:
    """Compare the time that a record has waited with the limits."""
    name, waited = topic.qualified_name, max(0, now - since)
    summary = (
        f"A record of topic {name} has waited for the table for {duration(waited)}, since {as_text(since)}"
    )
    failed = limits.fail_minutes is not None and waited >= limits.fail_minutes * _MINUTE
    warned = limits.warn_minutes is not None and waited >= limits.warn_minutes * _MINUTE
    if not failed and not warned:
        return CheckOutcome(True, f"{summary}, which is within the limits; {last}.")
    return CheckOutcome(
        False,
        f"{summary}; {last}.",
        "See tableflow_healthy for a suspended or failed Tableflow, then the topic's dead letter "
        "queue for records that could not become rows, and `confluent tableflow topic describe "
        f"{name} --cluster {topic.cluster_id}`. If commits are normally that far apart, raise "
        "LINEAGE_BRIDGE_FRESHNESS_WARN_MINUTES and LINEAGE_BRIDGE_FRESHNESS_FAIL_MINUTES.",
        failed,
    )


def _cadence_text(cadence: Cadence, limits: Limits) -> str:
    """Why a table has longer limits than those of the settings."""
    return (
        f"Most of the table's commits of rows are up to {duration(cadence.interval_ms)} apart, by the last "
        f"{cadence.intervals} intervals, so the check {_limits_text(limits)}."
    )


def _limits_text(limits: Limits) -> str:
    """The limits as a phrase, such as `warns after 30 minutes and fails after 1 hour`."""
    parts = [
        f"{verb} after {duration(round(minutes * _MINUTE))}"
        for verb, minutes in (("warns", limits.warn_minutes), ("fails", limits.fail_minutes))
        if minutes is not None
    ]
    return " and ".join(parts)


def _unknown(reason: str, error: Exception | None) -> CheckOutcome:
    if isinstance(error, LineageBridgeError):
        return CheckOutcome(False, f"Unknown: {reason}: {error.message.rstrip('.')}.", error.hint)
    return CheckOutcome(False, f"Unknown: {reason}: {error or 'it was not read'}.", "Run this check again.")


def _metadata(
    topic: Node, backlog: Backlog, commit: SnapshotState, now: int, waiting: int | None, limits: Limits
) -> dict[str, Any]:
    """Return the times that the check compared."""
    timestamp_type = str(TopicNode.of(topic).configs.get("message.timestamp.type") or "CreateTime")
    last, future = backlog.last_ms, backlog.last_ms is not None and in_future(backlog.last_ms, now)
    lag = None
    if last is not None and commit.changed_ms is not None and not future:
        lag = max(0, last - commit.changed_ms) / 1000
    last_record = f"could not be read: {backlog.untimed}" if backlog.untimed else None
    return {
        **commit_metadata(commit),
        **FreshnessMetadata(
            topic_records=backlog.records,
            record_times="set by the brokers (LogAppendTime)"
            if timestamp_type == "LogAppendTime"
            else f"set by the producers ({timestamp_type}); records with old times are found by comparing "
            "offsets between checks",
            last_record=last_record if last is None else as_text(last) if future else timestamp(last),
            lag_seconds=lag,
            waited_seconds=None if waiting is None else max(0, now - waiting) / 1000,
            lag_records=backlog.behind(commit.offsets),
            limits=_limits_text(limits) or None,
        ),
    }
