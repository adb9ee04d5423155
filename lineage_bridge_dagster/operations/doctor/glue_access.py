"""Which Glue calls this identity may make: tries the reads, and has IAM simulate the write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.config.aws_partitions import glue_arn
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.glue_status import is_in_glue
from lineage_bridge_dagster.operations.doctor.aws_places import RUN_DISCOVERY
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, skipped
from lineage_bridge_dagster.operations.doctor.iam_simulation import simulated, simulation_of
from lineage_bridge_dagster.operations.doctor.refusals import error_code, glue_failure, is_denied
from lineage_bridge_dagster.text import first_few, plural

#: The most databases in each of which one table is read.
_MAX_DATABASES = 20
_PUSH_ACTION = "glue:UpdateTable"


def known_places(context: Context) -> list[GluePlace]:
    """The tables that the last discovery found in Glue, one per database."""
    by_database: dict[str, GluePlace] = {}
    for table in context.tables():
        if is_in_glue(table.node) and (place := table.home_place) is not None:
            by_database.setdefault(place.database, place)
    return [by_database[name] for name in sorted(by_database)]


def read(context: Context) -> Iterator[Finding]:
    """Try `GetDatabases`, and `GetTables` and `GetTable` in each discovered database."""
    glue, region = context.glue(), context.region
    tried = f"glue:GetDatabases in {region}."
    listed: list[str] = []
    try:
        listed = [one["Name"] for one in glue.get_databases(MaxResults=100)["DatabaseList"]]
    except (ClientError, BotoCoreError) as error:
        yield glue_failure(error, "glue:GetDatabases", "the Glue catalog", region, tried)
        if not is_denied(error):
            return
    else:
        yield ok(tried, f"Allowed; the first page has {plural(len(listed), 'database')}.")
    places = known_places(context)
    if not places:
        if not listed:
            yield skipped("glue:GetTables and glue:GetTable.", "No database is known.", RUN_DISCOVERY)
        for name in listed[:1]:
            yield from _read_database(glue, region, name, None)
        return
    for place in places[:_MAX_DATABASES]:
        yield from _read_database(glue, region, place.database, place.table)


def _read_database(glue: Any, region: str, database: str, table: str | None) -> Iterator[Finding]:
    tried = f"glue:GetTables in {database}."
    try:
        tables = glue.get_tables(DatabaseName=database, MaxResults=1)["TableList"]
    except (ClientError, BotoCoreError) as error:
        yield _read_failure(error, "glue:GetTables", f"the database {database}", region, tried)
        if not is_denied(error):
            return
        tables = []
    else:
        yield ok(tried, "Allowed." if tables else "Allowed; it has no table that this identity may see.")
    if name := table or next((one["Name"] for one in tables), None):
        tried = f"glue:GetTable on {database}.{name}."
        try:
            glue.get_table(DatabaseName=database, Name=name)
        except (ClientError, BotoCoreError) as error:
            yield _read_failure(error, "glue:GetTable", f"{database}.{name}", region, tried)
        else:
            yield ok(tried, "Allowed.")


def _read_failure(error: Exception, action: str, where: str, region: str, tried: str) -> Finding:
    found = glue_failure(error, action, where, region, tried)
    if error_code(error) != "EntityNotFoundException":
        return found
    return failed(
        tried,
        f"{found.result} The last discovery found it.",
        f"It was dropped, or the discovery read another region or account: compare {region} and "
        "the account with aws.region and aws.account. If it was dropped on purpose, run the `refresh` job. "
        "Where Lake Formation governs it, a missing DESCRIBE looks the same.",
    )


def update(context: Context) -> Iterator[Finding]:
    """Whether IAM allows `UpdateTable` on the catalog, the databases and the tables."""
    account = context.aws.catalog_id or context.caller().account
    resources = update_resources(context.region, account, known_places(context))
    if len(resources) == 1:
        tried = simulation_of(context, [_PUSH_ACTION])
        yield skipped(tried, "There is no known table for which to simulate a push.", RUN_DISCOVERY)
        return
    by_hand = (
        "push one table and see (`lineage-bridge push --table DB.TABLE`): a refused write changes nothing"
    )
    found = simulated(context, [_PUSH_ACTION], resources, by_hand=by_hand)
    if isinstance(found, Finding):
        yield found
        return
    decisions = {resource: decision for (_, resource), decision in found.items()}
    yield _decided(decisions, simulation_of(context, [_PUSH_ACTION]))


def update_resources(region: str, account: str, places: Iterable[GluePlace]) -> list[str]:
    """The ARNs on which Glue checks `UpdateTable`: the catalog, each database, and a table of each."""
    arn = f"{glue_arn(region, account)}:"
    found = [f"{arn}catalog"]
    for place in list(places)[:_MAX_DATABASES]:
        found += [f"{arn}database/{place.database}", f"{arn}table/{place.database}/{place.table}"]
    return found


def _decided(decisions: Mapping[str, str], tried: str) -> Finding:
    refused = [name for name, decision in decisions.items() if decision != "allowed"]
    if not refused:
        return ok(
            tried,
            f"{_PUSH_ACTION} is allowed by IAM on the catalog, the databases and the tables. Lake Formation "
            "and the catalog's own policy are not part of the simulation.",
        )
    denied = [name for name in refused if decisions[name] == "explicitDeny"]
    if denied:
        remedy = f"Remove or narrow the Deny statement for {first_few(denied, 3)}; no Allow overrides it."
    else:
        remedy = f"Allow {_PUSH_ACTION} on {first_few(refused, 3)}."
    if len(refused) < len(decisions):
        remedy += (
            " The policy is on the wrong resources: Glue needs the action on the catalog, the database and "
            "the table, so the statement must list all three ARNs."
        )
    kinds = ", ".join(sorted({decisions[name] for name in refused}))
    return failed(tried, f"IAM refuses it on {first_few(refused, 3)} ({kinds}).", remedy)
