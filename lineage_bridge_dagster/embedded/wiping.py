"""Wipe the lineage of a table in the embedded Glue as a careless catalog sync does, and watch it return."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.glue.stamp import change_table
from lineage_bridge_dagster.config.aws_settings import AwsKeys, AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.documents import KEY_DIGEST
from lineage_bridge_dagster.text import did_you_mean

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

#: Without these the table would no longer be an Iceberg table; a catalog sync writes them itself.
KEPT = frozenset({"table_type", "metadata_location", "previous_metadata_location"})
#: Tag of the runs that restore lineage which a sweep of the sensor found lost.
REPAIR_TAG = "lineage_bridge/repair"


@dataclass(frozen=True, slots=True)
class Wiped:
    """A table, and how many of its parameters were removed when."""

    table: str
    parameters: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Repaired:
    """When lineage that was lost was found, and when it was there again.

    Attributes:
        found: None if another run restored it, such as one that was under way already.
    """

    found: datetime | None
    at: datetime


def wipe(environment: Mapping[str, str], tables: Sequence[tuple[str, str]], name: str) -> Wiped:
    """Remove a table's parameters and our block of its description.

    Args:
        environment: the variables that point at the stack.
        tables: Glue database and table of each topic with Tableflow.
        name: `database.table`, or the name of a table that only one database has.

    Raises:
        ConfigurationError: no such table, several of that name, or it is not in Glue yet.
        LineageBridgeError: other writers changed the table all the time.
    """
    database, table_name = _find(tables, name)
    glue = _glue(environment)
    table = GlueReader(glue).table(database, table_name)
    if table is None:
        raise ConfigurationError(
            f"{database}.{table_name} is not in Glue yet.", hint="Spark writes it within a minute or two."
        )
    change_table(glue, table.place, _wiped)
    return Wiped(f"{database}.{table_name}", len(table.parameters.keys() - KEPT), datetime.now(UTC))


def wait_for_repair(
    environment: Mapping[str, str],
    instance: Path,
    wiped: Wiped,
    seconds: float,
    check: Callable[[], None] = lambda: None,
) -> Repaired:
    """Wait until a sweep has found the loss and its run has restored the lineage.

    `check` raises an error if Dagster does not run any more.

    Raises:
        LineageBridgeError: it has not come back in time.
    """
    from dagster import DagsterInstance, RunsFilter

    database, _, table_name = wiped.table.partition(".")
    reader = GlueReader(_glue(environment))
    until = time.monotonic() + seconds
    while True:
        table = reader.table(database, table_name)
        if table is not None and KEY_DIGEST in table.parameters:
            at = datetime.now(UTC)
            break
        check()
        if time.monotonic() > until:
            raise LineageBridgeError(
                f"The lineage of {wiped.table} is not in Glue again after {seconds:.0f} s.",
                hint="See the sensor's ticks in the UI, or lineage-bridge local logs.",
            )
        time.sleep(0.2)
    with DagsterInstance.from_config(str(instance)) as dagster:
        runs = dagster.get_run_records(
            RunsFilter(tags={REPAIR_TAG: "true"}, created_after=wiped.at), ascending=True
        )
    return Repaired(runs[0].create_timestamp.astimezone(UTC) if runs else None, at)


def _glue(environment: Mapping[str, str]) -> GlueClient:
    """A client for the stack's Glue, wherever the variables of this shell point: it may hold real keys."""
    where = AwsSettings(region=environment["AWS_REGION"], endpoint_url=environment["AWS_ENDPOINT_URL"])
    return glue_client(
        where, keys=AwsKeys(environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"])
    )


def _find(tables: Sequence[tuple[str, str]], name: str) -> tuple[str, str]:
    wanted = name.lower()
    found = [place for place in tables if wanted in (".".join(place).lower(), place[1].lower())]
    if len(found) == 1:
        return found[0]
    names = [".".join(place) for place in tables]
    if not found:
        raise ConfigurationError(
            f"Tableflow has no table {name}.",
            hint=f"{did_you_mean(wanted, names)}There are: {', '.join(names)}.",
        )
    several = ", ".join(".".join(place) for place in found)
    raise ConfigurationError(f"Several tables have the name {name}.", hint=f"Use one of: {several}.")


def _wiped(table: GlueTable) -> tuple[Mapping[str, str], str]:
    """What a sync writes that knows no parameters but its own."""
    kept = {key: value for key, value in table.parameters.items() if key in KEPT}
    return kept, split_description(table.description)[0]
