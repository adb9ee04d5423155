"""The test of a collector's connection: which call on which region fails, and what to grant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lineage_bridge_dagster.collector.rows import Source
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.glue.errors import GlueNotFoundError
from lineage_bridge_dagster.glue.reader import GlueReader


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
            next(reader.pages(databases[0].name), None)
    except GlueNotFoundError:
        return ConnectionCheck(source.region)
    except LineageBridgeError as error:
        return ConnectionCheck(source.region, error)
    return ConnectionCheck(source.region)


def connection_error(failed: Sequence[ConnectionCheck]) -> LineageBridgeError:
    """One error that names each region that failed, with its call and what to do."""
    lines = [f"{check.region}: {check.error.message}" for check in failed if check.error]
    hints = dict.fromkeys(check.error.hint for check in failed if check.error and check.error.hint)
    return LineageBridgeError("\n".join(lines), hint=" ".join(hints))
