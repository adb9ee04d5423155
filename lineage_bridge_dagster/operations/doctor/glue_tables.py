"""The tables that Tableflow owns: missing ones, table optimizers, and names that Athena must quote."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.catalogs.glue.links import athena_select
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.glue_status import absence_sentence, glue_counts, is_in_glue
from lineage_bridge_dagster.operations.doctor.aws_places import NO_DISCOVERY, RUN_DISCOVERY
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, skipped, warning
from lineage_bridge_dagster.operations.doctor.glue_access import known_places
from lineage_bridge_dagster.operations.doctor.refusals import aws_failure, is_denied, one_line
from lineage_bridge_dagster.text import first_few, plural

#: `TableOptimizerType` of the Glue API, with what each does to a table.
OPTIMIZERS = {
    "compaction": "rewrites its data files",
    "retention": "expires its snapshots",
    "orphan_file_deletion": "deletes files that its metadata does not list",
}
#: Entries of one `BatchGetTableOptimizer`. The API documents no limit.
_BATCH = 60
#: The most findings of one kind that are listed one by one; the rest are counted.
_MAX_SHOWN = 20
#: Names that Athena accepts without quotes: letters, digits and underscores, not starting with a digit.
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
#: Glue's codes for an entry without an optimizer, or without the table.
_NO_OPTIMIZER = "EntityNotFoundException"


#: The most tables, one per database, whose parameters are counted.
_MAX_TABLES = 5
_WRITTEN = {
    "set_parameters": ("parameters", "LINEAGE_BRIDGE_PUSH_SET_PARAMETERS"),
    "set_description": ("the description", "LINEAGE_BRIDGE_PUSH_SET_DESCRIPTION"),
}


def missing(context: Context) -> Iterator[Finding]:
    """The tables that Tableflow has and Glue does not, according to the last discovery."""
    tried = "Compared Tableflow's tables with Glue's."
    stored = context.stored()
    if stored is None:
        yield warning(tried, NO_DISCOVERY, RUN_DISCOVERY)
        return
    tried = f"Compared Tableflow's tables with Glue's in {stored.source}."
    counted = str(glue_counts(stored.discovery.graph))
    absent = [table for table in context.tables() if not is_in_glue(table.node)]
    if not absent:
        yield ok(tried, f"Glue tables: {counted}.")
        return
    for table in absent[:_MAX_SHOWN]:
        sentence = absence_sentence(table.node)
        yield failed(tried, f"{table.shown_place.dotted}: {sentence}", table.glue_next_step)
    if len(absent) > _MAX_SHOWN:
        more = plural(len(absent) - _MAX_SHOWN, "more table")
        yield failed(
            tried, f"{more} not in Glue ({counted}).", "`lineage-bridge extract` counts the reasons."
        )


def optimizers(context: Context) -> Iterator[Finding]:
    """Glue's table optimizers, which must be off because Tableflow maintains its tables itself."""
    places = [
        place
        for table in context.tables()
        if is_in_glue(table.node) and (place := table.home_place) is not None
    ]
    tried = "glue:BatchGetTableOptimizer on Tableflow's tables."
    if not places:
        why = NO_DISCOVERY if context.stored() is None else "The last discovery found no table in Glue."
        yield skipped(tried, why, RUN_DISCOVERY)
        return
    tried = f"glue:BatchGetTableOptimizer on {plural(len(places), 'table')} of Tableflow."
    catalog = context.aws.catalog_id or context.caller().account
    entries = [_entry(catalog, place, kind) for place in places for kind in OPTIMIZERS]
    glue: Any = context.glue()
    enabled: dict[str, list[str]] = {}
    unread: Counter[str] = Counter()
    for start in range(0, len(entries), _BATCH):
        try:
            answer = glue.batch_get_table_optimizer(Entries=entries[start : start + _BATCH])
        except (ClientError, BotoCoreError) as error:
            yield _not_read(error, tried)
            break
        for found in answer.get("TableOptimizers", ()):
            optimizer = found.get("tableOptimizer", {})
            if optimizer.get("configuration", {}).get("enabled"):
                name = f"{found['databaseName']}.{found['tableName']}"
                enabled.setdefault(name, []).append(str(optimizer.get("type")))
        for failure in answer.get("Failures", ()):
            detail = failure.get("error", {})
            if detail.get("ErrorCode") != _NO_OPTIMIZER:
                unread[f"{detail.get('ErrorCode')}: {detail.get('ErrorMessage', '')}".rstrip(": ")] += 1
    else:
        if not enabled and not unread:
            yield ok(tried, "None is on.")
    yield from _optimizer_findings(tried, catalog, enabled, unread)


def _optimizer_findings(
    tried: str, catalog: str, enabled: dict[str, list[str]], unread: Counter[str]
) -> Iterator[Finding]:
    for name, kinds in sorted(enabled.items())[:_MAX_SHOWN]:
        does = " and ".join(f"{kind} ({OPTIMIZERS.get(kind, 'changes it')})" for kind in kinds)
        database, _, table = name.partition(".")
        yield failed(
            tried,
            f"{name}: {does} is on. Tableflow maintains its tables itself, and a second writer can make its "
            "commits fail or remove files that it needs.",
            f"`aws glue delete-table-optimizer --catalog-id {catalog} --database-name {database} "
            f"--table-name {table} --type {kinds[0]}`, for each type; and check that the catalog's own "
            "optimization settings do not turn it on again.",
        )
    if len(enabled) > _MAX_SHOWN:
        yield failed(
            tried, f"{plural(len(enabled) - _MAX_SHOWN, 'more table')} with optimizers.", "Likewise."
        )
    if unread:
        yield warning(
            tried,
            f"{plural(unread.total(), 'answer')} missing: {first_few(list(unread), 3)}",
            "Allow glue:GetTableOptimizer and glue:BatchGetTableOptimizer on the catalog, the databases and "
            "the tables, or look at the tables in the Glue console, under Table optimization.",
        )


def _entry(catalog: str, place: GluePlace, kind: str) -> dict[str, str]:
    return {"catalogId": catalog, "databaseName": place.database, "tableName": place.table, "type": kind}


def _not_read(error: Exception, tried: str) -> Finding:
    if is_denied(error):
        return aws_failure(
            error,
            "glue:BatchGetTableOptimizer (and glue:GetTableOptimizer) on the catalog, the databases and the "
            "tables",
            tried,
            "Until then, look at the tables in the Glue console, under Table optimization.",
        )
    return warning(
        tried,
        f"The table optimizers could not be read: {one_line(error)}",
        "Look at the tables in the Glue console, under Table optimization.",
    )


def athena_names(context: Context) -> Iterator[Finding]:
    """Names that Athena accepts only in double quotes: with dots, hyphens or a leading digit."""
    tried = "Looked for names of databases and tables that Athena accepts only in quotes."
    if context.stored() is None:
        yield skipped(tried, NO_DISCOVERY, RUN_DISCOVERY)
        return
    places = [place for table in context.tables() if (place := table.place) is not None]
    quoted = [place for place in places if not is_plain(place)]
    if not quoted:
        yield ok(tried, "There is none.")
        return
    dotted = [place for place in quoted if "." in place.table] or quoted
    example = dotted[0]
    yield ok(
        tried,
        f"{plural(len(quoted), 'table')}, such as {example.dotted}. In a SELECT without quotes, Athena reads "
        "a dot as the end of the database's name, and reports that the table or schema does not exist.",
        f"Use double quotes around each name: `{athena_select(example.database, example.table)}`. Athena's "
        "DDL uses backticks, and supports no special characters other than underscores.",
    )


def is_plain(place: GluePlace) -> bool:
    """Whether Athena accepts both names without quotes."""
    return bool(_PLAIN.fullmatch(place.database) and _PLAIN.fullmatch(place.table))


def pushes(context: Context) -> Iterator[Finding]:
    """What the settings exclude from pushes, and how many parameters the tables have from others."""
    yield _settings(context)
    places = known_places(context)
    if not places:
        yield skipped("Counted the parameters of tables.", "No table is known.", RUN_DISCOVERY)
    glue = context.glue()
    for place in places[:_MAX_TABLES]:
        try:
            table = glue.get_table(DatabaseName=place.database, Name=place.table)["Table"]
        except (ClientError, BotoCoreError):
            continue  # the check glue.read reports it
        parameters = table.get("Parameters", {})
        ours = [key for key in parameters if key.startswith(PREFIX)]
        yield ok(
            f"Counted the parameters of {place.dotted}.",
            f"{plural(len(parameters), 'parameter')}, {len(ours)} of them ours. A push changes no others, "
            f"and only its own block in the description.",
            "`lineage-bridge push --dry-run` shows each change before it is made.",
        )


def _settings(context: Context) -> Finding:
    settings = context.push
    tried = "Read the settings of pushes."
    off = [(what, name) for field, (what, name) in _WRITTEN.items() if not getattr(settings, field)]
    if not off:
        return ok(tried, "They write parameters and the description.")
    left_out = " and ".join(what for what, _ in off)
    names = " and ".join(name for _, name in off)
    return ok(
        tried,
        f"They exclude {left_out}, which pushes leave unchanged.",
        f"To write them, unset {names} (or the field of push in the YAML), and push again.",
    )
