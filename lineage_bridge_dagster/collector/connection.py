"""The test of a collector's connection: which call on which region fails, and what to grant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from lineage_bridge_dagster.catalogs.errors import NotFoundError
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.collector.rows import Source
from lineage_bridge_dagster.errors import LineageBridgeError


@dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """What came of the two calls on a region; `error` names the call that failed."""

    region: str
    error: LineageBridgeError | None = None


def check_region(source: Source, open_reader: Callable[[Source], GlueReader]) -> ConnectionCheck:
    """List the databases, and the first page of the tables of the first one that has its tables here."""
    try:
        reader = open_reader(source)
        databases = [each for each in reader.databases() if not each.is_elsewhere]
        if databases:
            # It may have been dropped since it was listed.
            with suppress(NotFoundError):
                next(reader.pages(databases[0].name), None)
    except LineageBridgeError as error:
        return ConnectionCheck(source.region, error)
    return ConnectionCheck(source.region)


def connection_error(errors: Mapping[str, LineageBridgeError]) -> LineageBridgeError:
    """One error that names each region that failed, with its call and what to do."""
    hints = {error.hint for error in errors.values()}
    if len(hints) == 1:
        lines = [f"{region}: {error.message}" for region, error in errors.items()]
        return LineageBridgeError("\n".join(lines), hint=hints.pop())
    return LineageBridgeError("\n".join(f"{region}: {error}" for region, error in errors.items()))
