"""What the checks find, each as a outcome that says what is wrong and what to do next. Pure.

Severity follows one rule: an error is a fact that somebody must act on, a warning is something that passes
by itself or could not be known. "Could not ask" never counts as good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lineage_bridge_dagster.confluent.graph.type_mapping import ColumnMatch, Match, compare_columns
from lineage_bridge_dagster.glue.results import PushStatus, TableResult
from lineage_bridge_dagster.lineage.coverage import Coverage, Status
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, TopicNode
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.text import first_few

_SYNC_ACTIONS = "glue:GetDatabase, glue:CreateDatabase, glue:GetTable, glue:CreateTable and glue:UpdateTable"
#: Names in one sentence; the table below it has them all.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The outcome of one check: `summary` is one plain sentence, `rows` the details under `header`."""

    passed: bool
    summary: str
    next_step: str = ""
    #: Whether it needs somebody to act; else it is a warning. Says nothing of a check that passed.
    error: bool = False
    header: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    link: str = ""
    #: What it was made of, as metadata of the check.
    metadata: Mapping[str, Any] = field(default_factory=dict)


def in_sync(result: TableResult | None) -> CheckOutcome:
    """Whether Glue holds what a push would write, by what a dry run of it came to."""
    if result is None:
        return CheckOutcome(
            False, "The table was not compared.", "Run the `refresh` job, then this check again."
        )
    match result.status:
        case PushStatus.UNCHANGED:
            return CheckOutcome(True, "Glue holds the lineage that was pushed.")
        case PushStatus.UPDATED:
            lines = [line for line in result.diff if line[:1] in ("+", "-")]
            return CheckOutcome(
                False,
                f"Glue does not hold the lineage of this table: a push would change {len(lines)} lines.",
                "Press Materialize on this asset, run the `push` job, or `lineage-bridge push --table "
                f"{result.name}`. If it comes back, something else rewrites the table's parameters or "
                "description: see its versions in the Glue console.",
                error=True,
                header=("", "in Glue (-) and wanted (+)"),
                rows=[(line[:1], line[1:].strip()) for line in lines],
            )
        case PushStatus.REFUSED:
            return CheckOutcome(
                False,
                f"The table may not be written: {result.reason}.",
                result.hint or "See the reason; the table is left as it is until that changes.",
                error=True,
            )
        case PushStatus.HELD:
            return CheckOutcome(
                False,
                f"What would be pushed is held back: {result.reason}.",
                result.hint or "See the check discovery_complete for what could not be asked, then refresh.",
            )
        case _:
            return CheckOutcome(
                False,
                f"Glue could not be asked what it holds: {result.reason}",
                result.hint
                or "Grant glue:GetTables and glue:GetTable on the table, its database and catalog.",
            )


def schema_matches(table: Node, view: GraphView) -> CheckOutcome:
    """Whether the table's columns are what Tableflow makes of its topic's value schema."""
    topics = view.topics_of(table)
    if len(topics) != 1:
        return CheckOutcome(
            True, f"Nothing to compare: {len(topics)} topics lead to this table, and its columns are one's."
        )
    topic = topics[0]
    topic_view = TopicNode.of(topic)
    fields, columns = topic_view.schema_fields, GlueTableNode.of(table).columns
    if not fields:
        return CheckOutcome(
            True,
            f"Nothing to compare: no one record schema of topic {topic.qualified_name} is known, so its "
            "columns are key and value.",
        )
    if not columns:
        return CheckOutcome(True, "Nothing to compare: Glue tells no columns of this table.")
    found = compare_columns(fields, columns, topic_view.schema_type or "AVRO")
    rows = [(one.name, one.schema_type, one.column_type, one.match) for one in _by_weight(found)]
    wrong = [one for one in found if one.match in (Match.DIFFERENT, Match.MISSING)]
    unknown = [one.name for one in found if one.match is Match.UNKNOWN]
    subject = topic_view.schema_subject or topic.qualified_name
    version = topic_view.schema_version
    schema = f"{subject} version {version}" if version else str(subject)
    header = ("field", "in the schema", "in Glue", "")
    if not wrong:
        rest = (
            f"; {len(unknown)} of a type that can't be compared: {first_few(unknown, _NAMED)}"
            if unknown
            else ""
        )
        return CheckOutcome(
            True, f"All {len(found)} fields of {schema} are columns{rest}.", "", False, header, rows
        )
    return CheckOutcome(
        False,
        f"{len(wrong)} of {len(found)} fields of {schema} are not in the table as they should be: "
        f"{first_few([_told(one) for one in wrong], _NAMED)}.",
        "A schema newer than the table's last commit is there with the next one: run the `refresh` job and "
        "this check again. If it stays, Tableflow could not evolve the table: see tableflow_healthy, and "
        "register a compatible version of the schema.",
        False,
        header,
        rows,
    )


def tableflow_healthy(table: Node, view: GraphView) -> CheckOutcome:
    """Whether Tableflow runs and syncs what this table is, as it said at the last discovery."""
    sources = [node for node in view.sources(table) if node.node_type == NodeType.TABLEFLOW_TABLE]
    if not sources:
        return CheckOutcome(
            False,
            "No Tableflow topic leads to this table any more.",
            "If Tableflow was disabled on purpose, drop the table in Glue; else enable it again.",
        )
    outcomes = [_tableflow(node) for node in sources]
    worst = min(outcomes, key=lambda outcome: (outcome.passed, not outcome.error))
    rows = [row for outcome in outcomes for row in outcome.rows]
    return replace(worst, header=("what", "state", "what Confluent says"), rows=rows)


def _tableflow(node: Node) -> CheckOutcome:
    attributes = node.attributes
    topic = str(attributes.get("topic") or node.label)
    link = node.url or ""
    show = f"`confluent tableflow topic describe {topic} --cluster {node.cluster_id}`"
    found: list[tuple[bool, str, str]] = []
    rows: list[tuple[str, str, str]] = []

    phase, said = str(attributes.get("phase") or "unknown"), str(attributes.get("error") or "")
    rows.append(("phase", phase, said))
    if phase == "FAILED":
        found.append(
            (True, "Tableflow failed", f"Correct what it says, then resume it there, or see {show}.")
        )
    elif phase == "PENDING":
        found.append((False, "Tableflow is still being set up", "Wait for its first commit, then refresh."))
    elif phase != "RUNNING":
        found.append((False, f"Tableflow's phase is {phase}", f"See {show}."))
    elif said:
        found.append((False, f"Tableflow runs and says: {said}", f"See {show}."))
    if attributes.get("suspended"):
        rows.append(("suspended", "yes", ""))
        found.append(
            (False, "Tableflow is suspended: no new rows come", "Resume the topic's Tableflow there.")
        )
    for one in _mappings(attributes.get("failing_table_formats")):
        kind = str(one.get("format") or "?")
        rows.append((f"format {kind}", "failing", str(one.get("error") or "")))
        # The table in Glue is the Iceberg one.
        found.append(
            (kind == "ICEBERG", f"Its {kind} format fails", f"Correct the schema or the storage; see {show}.")
        )
    for one in _mappings(attributes.get("catalog_sync")):
        kind, state = str(one.get("type") or "?"), str(one.get("status") or "unknown")
        rows.append((f"catalog {kind}", state, str(one.get("error") or "")))
        if state == "SYNCED":
            continue
        bad = state in ("FAILED", "DISCONNECTED") and kind == "AWS_GLUE"
        todo = (
            f"Grant the role of its provider integration {_SYNC_ACTIONS}, and check the catalog integration "
            "in Confluent's console."
            if bad
            else "Check the cluster's catalog integration in Confluent's console."
        )
        found.append((bad, f"The sync to {kind} is {state}", todo))
    if (since := attributes.get("stale_since")) is not None:
        found.append(
            (False, f"Tableflow could not be asked since {since}", "See the check discovery_complete.")
        )
    if not found:
        return CheckOutcome(True, f"Tableflow runs, and {topic} is in every catalog.", rows=rows, link=link)
    # The gravest leads: its next step is the one to take.
    found.sort(key=lambda finding: not finding[0])
    grave, _, todo = found[0]
    summary = "; ".join(what for _, what, _ in found)
    return CheckOutcome(False, f"{summary}.", todo, grave, rows=rows, link=link)


def discovery_complete(coverage: Coverage, discovered_at: str, refresh_job: str) -> CheckOutcome:
    """Whether every scope of the discovery answered whole, and which did not, why."""
    again = f"then run the `{refresh_job}` job."
    if not len(coverage):
        return CheckOutcome(
            False,
            "The discovery does not say what it asked.",
            f"It came from a plain file: set LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY and _SECRET, {again}",
        )
    missing = sorted(coverage.incomplete, key=lambda report: (report.status != Status.DENIED, report.scope))
    header = ("scope", "status", "reason and what to do", "found")
    rows = [(str(r.scope), str(r.status), r.reason, "" if r.count is None else r.count) for r in missing]
    if not missing:
        return CheckOutcome(True, f"All {len(coverage)} scopes answered whole at {discovered_at}.")
    return CheckOutcome(
        False,
        f"{len(missing)} of {len(coverage)} scopes did not answer whole at {discovered_at}: "
        f"{first_few([f'{report.scope} ({report.status})' for report in missing], _NAMED)}. "
        "What was known of them is kept, and nothing of it is removed.",
        f"{missing[0].reason or 'See the reasons below'}".rstrip(".") + f"; {again}",
        # A partial answer may be whole next time; a refused or failing API stays so until somebody acts.
        any(report.status in (Status.DENIED, Status.FAILED) for report in missing),
        header,
        rows,
    )


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list | tuple) else []


def _by_weight(found: Iterable[ColumnMatch]) -> list[ColumnMatch]:
    order = (Match.MISSING, Match.DIFFERENT, Match.UNKNOWN, Match.SAME)
    return sorted(found, key=lambda one: order.index(one.match))


def _told(one: ColumnMatch) -> str:
    if one.match is Match.MISSING:
        return f"{one.name} is no column"
    return f"{one.name} is {one.schema_type}, its column {one.column_type}"
