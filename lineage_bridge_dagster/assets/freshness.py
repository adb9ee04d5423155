"""Whether a Glue table lags behind its topic: records that wait, against what the table last committed.

A table without new rows is fresh for as long as its topic has no new records, however old both are. A table
is late when a record waits longer than is allowed. Dagster's own freshness policies look at the last
materialization, which here is a push of lineage and says nothing of the data.

Times are Unix milliseconds. A record's time is the broker's on a topic with LogAppendTime; with CreateTime,
Kafka's default, it is the producer's: missing, in the past or in the future perhaps. So offsets are compared
too, with those that the check saw before. What neither tells is a warning, never good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dagster import AssetCheckKey, AssetExecutionContext

from lineage_bridge_dagster.assets.check_outcomes import CheckOutcome
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.offset_growth import Arrival, arrived, last_arrivals
from lineage_bridge_dagster.assets.run_cache import checked_in_run
from lineage_bridge_dagster.assets.table_commits import (
    FRESH,
    Commits,
    commit_metadata,
    commits_of_run,
)
from lineage_bridge_dagster.assets.times import at, in_future, now_ms, timestamp
from lineage_bridge_dagster.assets.topic_facts import Backlog, ReadBacklogs
from lineage_bridge_dagster.config.freshness import Limits
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg.snapshots import TableState
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import TopicNode
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.text import duration

DESCRIPTION = (
    "No record of the topic waits longer for the table than is allowed. Asks the brokers and Glue, and reads "
    "the table's metadata."
)

_MINUTE = 60_000


def judge_tables(
    tables: Sequence[Node],
    view: GraphView,
    commits: Commits,
    read_backlogs: ReadBacklogs,
    limits: Limits,
    before: Mapping[str, Arrival],
    clock: Callable[[], int] = now_ms,
) -> dict[str, CheckOutcome]:
    """The verdict on each table, by its node id; the topics are asked together.

    Args:
        commits: what the tables last committed.
        before: what the last check of a table saw of its topic.
        read_backlogs: asks the brokers; a domain error is each table's verdict, not the end of the run.
    """
    topics = {table.node_id: view.topics_of(table) for table in tables}
    since = {
        table.node_id: (topics[table.node_id][0], commit.changed_ms)
        for table in tables
        if len(topics[table.node_id]) == 1 and isinstance(commit := commits.get(table.node_id), TableState)
    }
    asked_ms = clock()
    told = _ask(since, read_backlogs)
    now = clock()
    found = {}
    for table in tables:
        over, last = topics[table.node_id], before.get(table.node_id)
        answer = told.get(table.node_id)
        if isinstance(answer, Backlog):
            last = arrived(answer.written, last, asked_ms, now)
        verdict = table_fresh(over, answer, commits.get(table.node_id), limits, now, last)
        if last is not None:
            verdict = replace(verdict, metadata={**verdict.metadata, **last.metadata})
        link = next((n.url for n in view.sources(table) if n.node_type == NodeType.TABLEFLOW_TABLE), None)
        found[table.node_id] = replace(verdict, link=link or "")
    return found


def _ask(
    since: Mapping[str, tuple[Node, int | None]], read_backlogs: ReadBacklogs
) -> dict[str, Backlog | Exception]:
    """What the topic of each table holds since the table's last commit, by the table.

    All at once, but for a topic of several tables: it is asked again for each, as of that one's own commit.
    """
    told: dict[str, Backlog | Exception] = {}
    left = dict(since)
    while left:
        table_of = {topic.node_id: table for table, (topic, _) in left.items()}
        try:
            for topic, answer in read_backlogs([left[table] for table in table_of.values()]):
                told[table_of[topic.node_id]] = answer
        except LineageBridgeError as error:
            return {**told, **dict.fromkeys(left, error)}
        for table in table_of.values():
            del left[table]
    return told


def freshness_of_run(
    instance: ComponentInstance, context: AssetExecutionContext, limits: Limits
) -> Mapping[str, CheckOutcome]:
    """Return the outcomes for all tables of which the run evaluates this check, by node id."""
    inventory = instance.inventory

    def work() -> Mapping[str, CheckOutcome]:
        chosen = set(checked_in_run(context, inventory.tables, FRESH))
        tables = [asset.node for asset in inventory.tables if asset.node.node_id in chosen]
        commits = commits_of_run(instance, context)
        context.log.info("Asking the brokers for the topics of %d tables", len(tables))
        check_of = {table.node_id: AssetCheckKey(inventory.key_of[table.node_id], FRESH) for table in tables}
        seen = last_arrivals(context.instance, check_of.values())
        before = {node_id: seen[key] for node_id, key in check_of.items() if key in seen}
        read = instance.confluent(context).read_backlogs
        return judge_tables(tables, inventory.view, commits, read, limits, before)

    return instance.cache.get(context.run.run_id, "freshness", work)


def table_fresh(
    topics: Sequence[Node],
    unseen: Backlog | Exception | None,
    commit: TableState | LineageBridgeError | None,
    limits: Limits,
    now: int,
    arrival: Arrival | None = None,
) -> CheckOutcome:
    """The verdict on one table, from its topics, what the one told, its last commit, and what the offsets
    tell of the newest record."""
    if len(topics) != 1:
        return CheckOutcome(
            False,
            f"Not known: {len(topics)} topics lead to this table, and its rows are one's.",
            "See tableflow_healthy, and the conflict in the table's metadata if it has one.",
        )
    topic = topics[0]
    if not isinstance(commit, TableState):
        return _not_known("the table's last commit could not be read", commit)
    if not isinstance(unseen, Backlog):
        verdict = _not_known(f"topic {topic.qualified_name} could not be asked for its last record", unseen)
        return replace(verdict, metadata=commit_metadata(commit))
    waiting = _waiting_since(unseen, commit, now, arrival)
    verdict = _compare(topic, unseen, commit, limits, now, waiting, arrival)
    return replace(verdict, metadata=_metadata(topic, unseen, commit, now, waiting))


def _compare(
    topic: Node,
    unseen: Backlog,
    commit: TableState,
    limits: Limits,
    now: int,
    waiting: int | None,
    arrival: Arrival | None,
) -> CheckOutcome:
    name = topic.qualified_name
    last = "nothing was committed to it yet"
    if commit.changed_ms is not None:
        last = f"its last commit of rows was at {at(commit.changed_ms)}"
    if not unseen.records:
        return CheckOutcome(True, f"Topic {name} holds no record; {last}.")
    if arrival is not None and _all_came_before(commit, arrival):
        return CheckOutcome(True, f"No record came to topic {name} since {at(arrival.by_ms)}; {last}.")
    late = None if waiting is None else _late(topic, waiting, now, last, limits)
    if late is not None and not late.passed:
        return late
    if unseen.last_ms is not None and in_future(unseen.last_ms, now):
        return CheckOutcome(
            False,
            f"Not known: the latest record of topic {name} says that it is of {at(unseen.last_ms)}, which "
            "has not been yet, so times don't tell what is new.",
            "Correct the producer's clock or unit (Kafka wants milliseconds), or set "
            "message.timestamp.type=LogAppendTime on the topic. Until those records have expired only the "
            "offsets tell, from one check to the next.",
        )
    if late is not None:
        return late
    if unseen.untimed:
        return CheckOutcome(True, f"No record of topic {name} is newer than the table; {last}.")
    if unseen.last_ms is None:
        return CheckOutcome(
            False,
            f"Not known: no record of topic {name} has a time, so it can't be told whether one is new.",
            "Set message.timestamp.type=LogAppendTime on the topic, or have its producers set timestamps.",
        )
    when = f"The last record of topic {name} was at {at(unseen.last_ms)}"
    if commit.changed_ms is None or unseen.last_ms > commit.changed_ms:
        when += ", in a transaction that was not committed"
    return CheckOutcome(True, f"{when}; {last}.")


def _all_came_before(commit: TableState, arrival: Arrival) -> bool:
    """Whether, by its offsets, nothing came to the topic since the table's last commit."""
    return commit.changed_ms is not None and arrival.by_ms <= commit.changed_ms


def _waiting_since(unseen: Backlog, commit: TableState, now: int, arrival: Arrival | None) -> int | None:
    """Since when the first unseen record waits, as far as times or offsets tell; None: none does.

    It could not wait for a table not yet made.
    """
    if not unseen.records or (arrival is not None and _all_came_before(commit, arrival)):
        return None
    since = [] if unseen.first_ms is None or in_future(unseen.first_ms, now) else [unseen.first_ms]
    if arrival is not None and arrival.after_ms is not None and arrival.after_ms > (commit.changed_ms or 0):
        since.append(arrival.by_ms)
    made = commit.updated_ms if commit.changed_ms is None else None
    return max(min(since), made or 0) if since else None


def _late(topic: Node, since: int, now: int, last: str, limits: Limits) -> CheckOutcome:
    """How long a record has waited, against what is allowed."""
    name, waited = topic.qualified_name, max(0, now - since)
    summary = f"A record of topic {name} has waited for the table for {duration(waited)}, since {at(since)}"
    failed = limits.fail_minutes is not None and waited >= limits.fail_minutes * _MINUTE
    warned = limits.warn_minutes is not None and waited >= limits.warn_minutes * _MINUTE
    if not failed and not warned:
        return CheckOutcome(True, f"{summary}, which is within what is allowed; {last}.")
    return CheckOutcome(
        False,
        f"{summary}; {last}.",
        "See tableflow_healthy for a Tableflow that is suspended or fails, then the topic's dead letter "
        "queue for records that could not become rows, and `confluent tableflow topic describe "
        f"{name} --cluster {topic.cluster_id}`. If commits are just that far apart here, raise "
        "LINEAGE_BRIDGE_FRESHNESS_WARN_MINUTES and LINEAGE_BRIDGE_FRESHNESS_FAIL_MINUTES.",
        failed,
    )


def _not_known(what: str, error: Exception | None) -> CheckOutcome:
    if isinstance(error, LineageBridgeError):
        return CheckOutcome(False, f"Not known: {what}: {error.message.rstrip('.')}.", error.hint)
    return CheckOutcome(False, f"Not known: {what}: {error or 'it was not asked'}.", "Run this check again.")


def _metadata(
    topic: Node, unseen: Backlog, commit: TableState, now: int, waiting: int | None
) -> dict[str, Any]:
    """The times that the verdict was made of, for the check's page."""
    clock = str(TopicNode.of(topic).configs.get("message.timestamp.type") or "CreateTime")
    metadata: dict[str, Any] = {
        "lineage_bridge/topic_records": unseen.records,
        "lineage_bridge/record_times": "the brokers' (LogAppendTime)"
        if clock == "LogAppendTime"
        else f"the producers' ({clock}); records of old times show by their offsets, from check to check",
        **commit_metadata(commit),
    }
    if unseen.untimed:
        metadata["lineage_bridge/last_record"] = f"could not be read: {unseen.untimed}"
    if unseen.last_ms is not None:
        future = in_future(unseen.last_ms, now)
        metadata["lineage_bridge/last_record"] = at(unseen.last_ms) if future else timestamp(unseen.last_ms)
        if commit.changed_ms is not None and not future:
            metadata["lineage_bridge/lag_seconds"] = max(0, unseen.last_ms - commit.changed_ms) / 1000
    if waiting is not None:
        metadata["lineage_bridge/waited_seconds"] = max(0, now - waiting) / 1000
    return metadata
