"""The sensor's cursor, typed and versioned; an unreadable cursor never fails a tick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, Field, ValidationError

from lineage_bridge_dagster.config.request_counts import RequestCounts
from lineage_bridge_dagster.formats import CURSOR


class Attempt(BaseModel):
    """A table whose push was requested and that is not up to date yet."""

    #: The data version that was requested; for another one, counting starts over.
    wanted: str
    count: int = Field(1, ge=1)
    #: Unix time in seconds before which it is not requested again.
    not_before: float = 0.0
    #: Unix time in seconds since when it is known not to be up to date; 0 if an older version wrote this.
    since: float = 0.0


class SweepPosition(BaseModel):
    """Where a sweep of whole tables stopped, or when the next one starts."""

    #: The name of the database or catalog; empty between two sweeps.
    source: str = ""
    #: The token of the page to read next; empty for the first page.
    token: str = ""
    #: Whether this page could not be read by the last tick.
    failed: bool = False
    #: Unix times in seconds.
    started: float = 0.0
    not_before: float = 0.0


class Loss(BaseModel):
    """A table whose lineage in Glue was lost after its push."""

    #: How often it was lost, and how often its repair was requested.
    count: int = Field(1, ge=1)
    repairs: int = Field(0, ge=0)
    #: Unix times in seconds: of the first and the last loss, and before which it is not repaired again.
    since: float = 0.0
    found: float = 0.0
    not_before: float = 0.0
    #: What was lost, as it was reported last.
    how: str = ""
    #: Whether it had its lineage when it was looked at last, and whether that outlived an Iceberg commit.
    in_sync: bool = False
    survived: bool = False
    #: What tells writers apart, as of the last look at the table with its lineage.
    facts: dict[str, str] = Field(default_factory=dict)


class TickTotals(BaseModel):
    """What all ticks did since the cursor began, for the metrics: a code server may restart at any time."""

    #: Unix time in seconds of the last tick; one that failed leaves no cursor.
    at: float = 0.0
    #: Requests by API, then by status, and those that repeated another one, by API.
    requests: dict[str, dict[str, int]] = Field(default_factory=dict)
    retries: dict[str, int] = Field(default_factory=dict)
    #: How often a sweep found that a table had lost its lineage.
    losses: int = Field(0, ge=0)

    def add(
        self, counts: RequestCounts, requests: Mapping[tuple[str, str], int], retries: Mapping[str, int]
    ) -> None:
        """Add the difference between these counts and the given earlier requests and retries."""
        for (api, status), number in counts.requests.items():
            if new := number - requests.get((api, status), 0):
                by_status = self.requests.setdefault(api, {})
                by_status[status] = by_status.get(status, 0) + new
        for api, number in counts.retries.items():
            if new := number - retries.get(api, 0):
                self.retries[api] = self.retries.get(api, 0) + new


class Cursor(BaseModel):
    """What a tick passes on to the next.

    It does not record what was pushed: the assets' materializations do, so a lost cursor only means that they
    are read again.
    """

    version: int = CURSOR.version
    #: Scope -> fingerprint of its list that the loaded state is known to cover.
    seen: dict[str, str] = Field(default_factory=dict)
    #: The same for lists that a refresh was requested for; they count as seen once a newer state is loaded.
    refresh_lists: dict[str, str] = Field(default_factory=dict)
    #: The state that was loaded when that refresh was requested.
    refresh_state: str = ""
    #: Unix time in seconds of that request.
    refresh_time: float = 0.0
    #: Scopes whose list was last read under an older state, so that it may have changed with the state.
    outdated: list[str] = Field(default_factory=list)
    #: Index of the scope to read next, if the last tick ran out of time.
    next_scope: int = Field(0, ge=0)
    #: The state whose tables are compared with their last push, the push settings' fingerprint, and how many
    #: tables have been compared.
    state: str = ""
    settings: str = ""
    compared: int = Field(0, ge=0)
    #: Table key -> its requests.
    attempts: dict[str, Attempt] = Field(default_factory=dict)
    #: How far the sweep of whole tables has got, and by table key what it found lost.
    sweep: SweepPosition = Field(default_factory=SweepPosition)
    losses: dict[str, Loss] = Field(default_factory=dict)
    #: Other instance -> its tables, as `ForeignTables` writes them.
    foreign: dict[str, str] = Field(default_factory=dict)
    #: A hash of the tables that Glue lacks, with their checks' outcomes, as they were reported last.
    absent: str = ""
    #: The code servers that evaluated the last ticks, the last one last.
    servers: list[str] = Field(default_factory=list)
    #: Tables of the loaded state.
    tables: int = Field(0, ge=0)
    #: The sensors and schedules of the code location: Dagster keeps the state of removed ones.
    automations: list[str] = Field(default_factory=list)
    totals: TickTotals = Field(default_factory=TickTotals)
    #: Refreshes requested in a row without a newer state, and the Unix time before which none is requested.
    refreshes: int = Field(0, ge=0)
    refresh_not_before: float = 0.0

    @classmethod
    def read(cls, text: str | None) -> tuple[Self, str]:
        """The cursor, and a warning if an unreadable or older one was replaced."""
        if not text:
            return cls(), ""
        try:
            cursor = cls.model_validate_json(text)
        except ValidationError as error:
            return cls(), f"The cursor could not be read and starts over: {error.errors()[0]['msg']}"
        if cursor.version != CURSOR.version:
            return (
                cls(),
                f"The cursor has version {cursor.version} and starts over as version {CURSOR.version}",
            )
        return cursor, ""

    def write(self) -> str:
        return self.model_dump_json()


def backoff(count: int, *, first: float = 30.0, longest: float = 3600.0) -> float:
    """Seconds to wait after this number of attempts."""
    return float(min(longest, first * 2 ** min(max(0, count - 1), 20)))
