"""Outcomes of the checks of tables and of the discovery, each with its reason and the next step. Pure.

An outcome is an error if somebody must act on it, and a warning if it resolves itself or could not be
determined. A check that could not query a system never passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from dagster import AssetCheckEvaluation, AssetCheckResult, AssetCheckSeverity, AssetKey, MetadataValue

from lineage_bridge_dagster.catalogs.glue.absence import (
    ICEBERG,
    describe_command,
    failed_syncs,
    integration_cause,
    is_failed_glue_sync,
    topic_causes,
)
from lineage_bridge_dagster.confluent.graph.type_mapping import ColumnMatch, Match, compare_columns
from lineage_bridge_dagster.dagster_internals.definitions import (
    AssetCheckEvaluationTargetMaterializationData,
)
from lineage_bridge_dagster.lineage.coverage import Coverage, Status
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE
from lineage_bridge_dagster.lineage.glue_status import (
    Absence,
    GlueCounts,
    GlueStatus,
    absence_sentence,
    glue_status,
    is_in_glue,
)
from lineage_bridge_dagster.lineage.loaded_topics import loaded_topic_of
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import (
    CatalogIntegrationState,
    GlueTableNode,
    TableflowNode,
    TopicNode,
)
from lineage_bridge_dagster.lineage.push_results import PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import parse_iso, utc_now
from lineage_bridge_dagster.lineage.unknowns import note_lines
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.metadata import LineageMetadata
from lineage_bridge_dagster.text import first_few, sentence

#: The outcome of a check that compares a table with something, while `tableflow_healthy` reports its absence.
NO_TABLE = "Nothing to compare: Glue has no such table; see tableflow_healthy."

#: How long the first sync of a topic to Glue may take before it is an error.
_FIRST_SYNC = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The outcome of one check.

    Attributes:
        summary: one sentence.
        error: whether somebody must act; otherwise a check that did not pass is a warning.
        rows: details, under `header`.
        link: to the console.
        metadata: the values that the check compared.
    """

    passed: bool
    summary: str
    next_step: str = ""
    error: bool = False
    header: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    link: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def result(self, asset: AssetKey, check: str, discovered_at: str | None = None) -> AssetCheckResult:
        """Return the outcome as Dagster records it; `discovered_at` of the discovery that it judges."""
        metadata: dict[str, Any] = {**LineageMetadata(discovered_at=discovered_at), **self.metadata}
        if self.rows:
            metadata["details"] = MetadataValue.md(markdown_table(self.header, self.rows))
        if self.link:
            metadata["console"] = MetadataValue.url(self.link)
        return AssetCheckResult(
            passed=self.passed,
            asset_key=asset,
            check_name=check,
            severity=AssetCheckSeverity.ERROR if self.error else AssetCheckSeverity.WARN,
            description=self.summary + (f" What to do: {self.next_step}" if self.next_step else ""),
            metadata=metadata,
        )


def evaluation_of(
    result: AssetCheckResult, target: AssetCheckEvaluationTargetMaterializationData | None = None
) -> AssetCheckEvaluation:
    """A result that no run has yielded, as Dagster stores it; the target is the materialization it is of."""
    if result.asset_key is None or result.check_name is None:
        raise ValueError("the result of a check names its asset and its check")
    return AssetCheckEvaluation(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=result.passed,
        metadata=result.metadata,
        severity=result.severity,
        description=result.description,
        target_materialization_data=target,
    )


def in_sync(result: TableResult | None, catalog: str = "", forms: TableResult | None = None) -> CheckOutcome:
    """Judge whether a table holds the lineage that a push would write, by the result of a dry run.

    Args:
        result: What the dry run found for the table.
        catalog: The name of its catalog, if that is not Glue.
        forms: What it found for the table's asset in Glue's business context, if that takes lineage.
    """
    where = f"The catalog {catalog}" if catalog else "Glue"
    if result is None:
        return CheckOutcome(
            False, "The table was not compared.", "Run the `refresh` job, then this check again."
        )
    match result.status:
        case PushStatus.UNCHANGED if forms is not None and forms.status is PushStatus.UPDATED:
            lines = [line for line in forms.diff if line[:1] in ("+", "-")]
            return CheckOutcome(
                False,
                "Glue has this table's current lineage, and its business context does not: a push would "
                f"change {len(lines)} lines.",
                "Materialize this asset, or run the `push` job.",
                header=("", "in the forms (-) and wanted (+)"),
                rows=[(line[:1], line[1:].strip()) for line in lines],
            )
        case PushStatus.UNCHANGED:
            return CheckOutcome(True, f"{where} has this table's current lineage.")
        case PushStatus.UPDATED:
            lines = [line for line in result.diff if line[:1] in ("+", "-")]
            return CheckOutcome(
                False,
                f"{where} does not have this table's current lineage: a push would change {len(lines)} "
                "lines.",
                "Materialize this asset, run the `push` job, or `lineage-bridge push --table "
                f"{result.name}`. If the difference returns, something else rewrites the table's "
                + (
                    "properties."
                    if catalog
                    else "parameters or description: look at its versions in the Glue console."
                ),
                error=True,
                header=("", "in the table (-) and wanted (+)"),
                rows=[(line[:1], line[1:].strip()) for line in lines],
            )
        case PushStatus.REFUSED:
            return CheckOutcome(
                False,
                f"The table cannot be written safely: {result.reason}.",
                result.hint or "See the reason; the table stays unchanged until it is resolved.",
                error=True,
            )
        case PushStatus.SKIPPED:
            return CheckOutcome(
                True, " ".join(filter(None, (sentence(result.reason), result.hint))) if catalog else NO_TABLE
            )
        case PushStatus.HELD:
            return CheckOutcome(
                False,
                f"The push of this table is held back: {result.reason}.",
                result.hint or "See the check discovery_complete for the scopes that failed, then refresh.",
            )
        case _:
            return CheckOutcome(
                False,
                f"The table could not be read from {f'the catalog {catalog}' if catalog else 'Glue'}: "
                f"{result.reason}",
                result.hint
                or "Grant glue:GetTables and glue:GetTable on the table, its database and catalog.",
            )


def schema_matches(table: Node, view: GraphView) -> CheckOutcome:
    """Judge whether the table's columns are those that Tableflow derives from its topic's value schema."""
    if glue_status(table) is GlueStatus.MISSING:
        return CheckOutcome(True, NO_TABLE)
    topics = view.topics_of(table)
    if len(topics) != 1:
        return CheckOutcome(
            True,
            f"Nothing to compare: {len(topics)} topics feed this table instead of one.",
        )
    topic = TopicNode.of(topics[0])
    fields, columns = topic.schema_fields, GlueTableNode.of(table).columns
    if not fields:
        return CheckOutcome(
            True,
            f"Nothing to compare: topic {topics[0].qualified_name} has no single known record schema, so the "
            "columns are key and value.",
        )
    if not columns:
        return CheckOutcome(True, "Nothing to compare: Glue returns no columns of this table.")
    is_avro = (topic.schema_type or "AVRO").upper() == "AVRO"
    matches = compare_columns(fields, columns, None if is_avro else topic.column_types)
    if not matches:
        return CheckOutcome(
            True,
            "Nothing to compare: the rows are of Debezium's envelopes, whose fields are unknown.",
        )
    rows = [(each.name, each.schema_type, each.column_type, each.match) for each in _worst_first(matches)]
    wrong = [each for each in matches if each.match in (Match.DIFFERENT, Match.MISSING)]
    unknown = [each.name for each in matches if each.match is Match.UNKNOWN]
    schema = topic.schema_subject or topics[0].qualified_name
    if topic.schema_version:
        schema += f" version {topic.schema_version}"
    header = ("field", "in the schema", "in Glue", "")
    if not wrong:
        rest = f"; {len(unknown)} have types that cannot be compared: {first_few(unknown)}" if unknown else ""
        return CheckOutcome(
            True, f"All {len(matches)} fields of {schema} are columns{rest}.", "", False, header, rows
        )
    return CheckOutcome(
        False,
        f"{len(wrong)} of {len(matches)} fields of {schema} differ from the table's columns: "
        f"{first_few([_difference(each) for each in wrong])}.",
        "A schema that is newer than the table's last commit takes effect with the next commit: run the "
        "`refresh` job and this check again. If the difference remains, Tableflow could not evolve the "
        "table: see tableflow_healthy, and register a compatible version of the schema.",
        False,
        header,
        rows,
    )


def tableflow_healthy(table: Node, view: GraphView, clock: Callable[[], datetime] = utc_now) -> CheckOutcome:
    """Judge whether Tableflow writes and syncs this table and Glue has it, by the last discovery."""
    sources = [node for node in view.sources(table) if node.node_type == NodeType.TABLEFLOW_TABLE]
    if not sources and (loaded := loaded_topic_of(table)) is not None:
        return CheckOutcome(
            True, f"The table is not Tableflow's: topic_to_iceberg loads it from {loaded.dotted}."
        )
    if not sources and (writers := view.feeding_topics(table)[1]):
        names = first_few(sorted(each.label for each in writers))
        return CheckOutcome(True, f"The table is not Tableflow's: written by {names}.")
    if not sources:
        return CheckOutcome(
            False,
            "No Tableflow topic leads to this table any more.",
            "If Tableflow was disabled on purpose, drop the table in Glue; otherwise enable it again.",
        )
    outcomes = [_tableflow(node) for node in sources]
    worst = min(outcomes, key=lambda outcome: (outcome.passed, not outcome.error))
    rows = [row for outcome in outcomes for row in outcome.rows]
    found = replace(worst, header=("what", "state", "message from Confluent"), rows=rows)
    return found if is_in_glue(table) else _absent(table, sources, found, clock())


def _absent(table: Node, sources: Sequence[Node], tableflow: CheckOutcome, now: datetime) -> CheckOutcome:
    """Say that Glue has no such table and why; it is an error only if a first sync took over an hour."""
    glue = GlueTableNode.of(table)
    missing = glue_status(table) is GlueStatus.MISSING
    since = [TableflowNode.of(source).created_at or table.first_seen or "" for source in sources]
    enabled = max(filter(None, map(parse_iso, since)), default=None)
    is_new = enabled is not None and now - enabled < _FIRST_SYNC
    not_yet = glue.glue_absence == Absence.NOT_SYNCED_YET and is_new
    summary = absence_sentence(table)
    if table.stale_since:
        summary += f" This could not be read again since {table.stale_since}."
    row = (f"Glue in {glue.aws_region or '?'}", str(glue_status(table)), "")
    return replace(
        tableflow,
        passed=False,
        summary=summary,
        next_step=glue.glue_next_step,
        error=missing and not not_yet and not table.stale_since,
        rows=[row, *tableflow.rows],
    )


#: Whether what keeps a table from Glue is an error where the table is there.
_SEVERE = {
    Absence.TABLEFLOW_FAILED: True,
    Absence.TABLEFLOW_SUSPENDED: False,
    Absence.FORMAT_FAILING: True,
    Absence.SYNC_FAILED: True,
}


def _tableflow(node: Node) -> CheckOutcome:
    tableflow = TableflowNode.of(node)
    rows = [("phase", tableflow.phase or "unknown", tableflow.error)]
    if tableflow.suspended:
        rows.append(("suspended", "yes", ""))
    rows += [(f"format {one.format or '?'}", "failing", one.error) for one in tableflow.failing_table_formats]
    rows += [
        (f"catalog {sync.type or '?'}", sync.status or "unknown", sync.error)
        for sync in tableflow.catalog_sync
    ]
    rows += [_integration_row(one, tableflow.last_sync(one.id)) for one in tableflow.catalog_integrations]
    # Errors first: their next step is the one to take.
    findings = sorted(_findings(node, tableflow), key=lambda finding: not finding[0])
    link = node.url or ""
    if not findings:
        topic = tableflow.topic or node.label
        summary = f"Tableflow is running, and {topic} is synced to every catalog."
        return CheckOutcome(True, summary, rows=rows, link=link)
    is_error, _, next_step = findings[0]
    summary = sentence("; ".join(text for _, text, _ in findings))
    return CheckOutcome(False, summary, next_step, is_error, rows=rows, link=link)


def _findings(node: Node, tableflow: TableflowNode) -> Iterator[tuple[bool, str, str]]:
    """What is not as it should be: whether it is an error, a clause, and the next step."""
    describe = describe_command(node)
    for kind, text, step in (*topic_causes(node), *failed_syncs(tableflow)):
        if kind in _SEVERE:
            yield _SEVERE[kind], text, step
    phase = tableflow.phase or "unknown"
    if phase == "PENDING":
        yield False, "Tableflow is still being set up", "Wait for its first commit, then refresh."
    elif phase not in ("RUNNING", "FAILED"):
        yield False, f"Tableflow's phase is {phase}", f"See {describe}."
    elif phase == "RUNNING" and tableflow.error:
        yield False, f"Tableflow is running but reports: {tableflow.error}", f"See {describe}."
    for failing in tableflow.failing_table_formats:
        # The table in Glue is the Iceberg one.
        if failing.format != ICEBERG:
            step = f"Correct the schema or the storage; see {describe}."
            yield False, f"its {failing.format or '?'} format is failing", step
    for sync in tableflow.catalog_sync:
        if sync.status != "SYNCED" and not is_failed_glue_sync(sync):
            step = "Check the cluster's catalog integration in Confluent's console."
            yield False, f"its sync to {sync.type or '?'} is {sync.status or 'unknown'}", step
    for integration in tableflow.catalog_integrations:
        if cause := integration_cause(integration):
            kind, text, step = cause
            yield kind is Absence.INTEGRATION_FAILED and integration.type == AWS_GLUE, text, step
        elif integration.phase not in ("", "CONNECTED"):
            text = f"the catalog integration {integration.label} is {integration.phase}"
            yield False, text, "See it in Confluent's console, then refresh."
    if since := tableflow.stale_since:
        yield False, f"Tableflow could not be queried since {since}", "See the check discovery_complete."


def _integration_row(integration: CatalogIntegrationState, last_sync: str) -> tuple[str, str, str]:
    state = "suspended" if integration.suspended else integration.phase or "unknown"
    synced = f"last sync at {last_sync}" if last_sync else "no sync yet"
    message = "; ".join(filter(None, (integration.error, synced)))
    return f"integration {integration.label} with {integration.type or '?'}", state, message


def discovery_complete(
    coverage: Coverage, discovered_at: str, refresh_job: str, tables: GlueCounts | None = None
) -> CheckOutcome:
    """Judge whether every scope of the discovery was fully read, and why others were not.

    What was read but left open, such as an unknown connector class, is listed and fails nothing; so are
    `tables`, the number of tables that Glue has or lacks: a table's own check fails.
    """
    outcome = _coverage_outcome(coverage, discovered_at, refresh_job)
    if tables is None or not len(coverage):
        return outcome
    return replace(
        outcome,
        summary=f"{outcome.summary} Glue tables: {tables}.",
        metadata={**outcome.metadata, "glue tables": str(tables)},
    )


def _coverage_outcome(coverage: Coverage, discovered_at: str, refresh_job: str) -> CheckOutcome:
    then_refresh = f"then run the `{refresh_job}` job."
    if not len(coverage):
        return CheckOutcome(
            False,
            "The discovery has no coverage report.",
            "It was read from a file without one: set LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY and _SECRET, "
            + then_refresh,
        )
    incomplete = sorted(
        coverage.incomplete, key=lambda report: (report.status != Status.DENIED, report.scope)
    )
    header = ("scope", "status", "reason and what to do", "found")
    notes = note_lines(coverage)
    rows = [(str(r.scope), str(r.status), r.reason, "" if r.count is None else r.count) for r in incomplete]
    rows += [(str(scope), "note", note, "") for scope, note in notes]
    if not incomplete:
        read = coverage.fully_read
        scopes = f"All {read}" if read == len(coverage) else f"{read} of {len(coverage)}"
        summary = f"{scopes} scopes were fully read at {discovered_at}."
        if notes:
            summary += f" Their lineage leaves open: {first_few([note for _, note in notes], 3)}."
        return CheckOutcome(True, summary, header=header, rows=rows)
    return CheckOutcome(
        False,
        f"{len(incomplete)} of {len(coverage)} scopes were not fully read at {discovered_at}: "
        f"{first_few([f'{report.scope} ({report.status})' for report in incomplete])}. "
        "Their last known lineage is kept.",
        f"{incomplete[0].reason or 'See the reasons below'}".rstrip(".") + f"; {then_refresh}",
        # A partial read may be complete next time; a denied or failing API needs somebody to act.
        any(report.status in (Status.DENIED, Status.FAILED) for report in incomplete),
        header,
        rows,
    )


def _worst_first(matches: Iterable[ColumnMatch]) -> list[ColumnMatch]:
    order = (Match.MISSING, Match.DIFFERENT, Match.UNKNOWN, Match.SAME)
    return sorted(matches, key=lambda each: order.index(each.match))


def _difference(column: ColumnMatch) -> str:
    if column.match is Match.MISSING:
        return f"{column.name} has no column"
    return f"{column.name} is {column.schema_type}, its column is {column.column_type}"
