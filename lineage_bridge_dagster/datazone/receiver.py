"""A DataZone domain as a receiver of events.

PostLineageEvent answers before DataZone has read an event. An event has arrived once the domain lists it as
SUCCESS; a table is linked once GetLineageNode finds what feeds it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from lineage_bridge_dagster.catalogs.concurrently import answers
from lineage_bridge_dagster.catalogs.errors import (
    AccessDeniedError,
    CallError,
    NotFoundError,
    UnreachableError,
)
from lineage_bridge_dagster.datazone.domain import DataZoneDomain, PostedEvent
from lineage_bridge_dagster.datazone.events import (
    MAX_IDENTIFIER,
    EventTooLargeError,
    PreparedEvent,
    prepared,
)
from lineage_bridge_dagster.datazone.settings import DataZoneSettings
from lineage_bridge_dagster.lineage.times import parse_iso, utc_now
from lineage_bridge_dagster.openlineage.emission import Arrival, EventRefused, ReceiverDown
from lineage_bridge_dagster.openlineage.events import Event

_SUCCESS, _FAILED = "SUCCESS", "FAILED"
#: Seconds between looks, the first and the longest.
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 15.0
#: The clocks of this machine and of AWS may differ by as much.
_CLOCKS = timedelta(minutes=5)
#: Errors after which no other event has a better chance.
_ALL = (AccessDeniedError, NotFoundError, UnreachableError)


class DataZoneReceiver:
    """Posts events to a domain, several at once, and waits until it has processed them.

    Nothing is remembered here: an event that is sent again has the client token that it had, so that the
    domain answers with the event that it has.

    Args:
        domain: The domain.
        settings: Limits.
        sleep: Waits, in seconds.
        clock: The time now.
    """

    url = ""

    def __init__(
        self,
        domain: DataZoneDomain,
        settings: DataZoneSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.name = f"DataZone domain {domain.domain}"
        self.key = f"datazone-{domain.domain}"
        self._domain = domain
        self._settings = settings
        self._sleep = sleep
        self._clock = clock
        self._batch: list[PreparedEvent] = []

    def send(self, event: Event) -> None:
        """Take an event, which `confirm` posts."""
        try:
            self._batch.append(prepared(event))
        except EventTooLargeError as error:
            raise EventRefused(error.message) from error

    def confirm(self) -> list[Arrival]:
        """Post what was taken, and wait until the domain has processed it."""
        events, self._batch = self._batch, []
        posting = _Posting(self._domain, self._settings, self._clock())
        try:
            posting.post(events)
            self._wait(posting)
            linked = posting.look()
        except CallError as error:
            raise ReceiverDown(error.reason) from error
        return [
            Arrival(event.job, posting.refused.get(event.job, ""), _note(event, linked)) for event in events
        ]

    def close(self) -> None:
        """Nothing is held."""

    def _wait(self, posting: _Posting) -> None:
        pause, end = _FIRST_WAIT, self._clock() + timedelta(seconds=self._settings.wait_seconds)
        while posting.waiting:
            reason = posting.settle()
            if not posting.waiting:
                return
            if self._clock() + timedelta(seconds=pause) > end:
                count = len(posting.waiting)
                raise ReceiverDown(reason or f"it has not processed {count} of the events that it took yet")
            self._sleep(pause)
            pause = min(2 * pause, _LONGEST_WAIT)


class _Posting:
    """Some events on their way into a domain.

    Attributes:
        waiting: DataZone's id -> the event that it has not processed yet.
        refused: Job -> why its event was not taken.
    """

    def __init__(self, domain: DataZoneDomain, settings: DataZoneSettings, started: datetime) -> None:
        self.waiting: dict[str, PreparedEvent] = {}
        self.refused: dict[str, str] = {}
        self._domain = domain
        self._settings = settings
        self._started = self._oldest = started
        self._tables: list[str] = []

    def post(self, events: list[PreparedEvent]) -> None:
        """Post events.

        Raises:
            CallError: No event can be posted.
        """
        found = answers(
            lambda event: self._domain.post(event.body, event.digest),
            events,
            (CallError,),
            max_concurrency=self._settings.max_concurrency,
        )
        for event, answer in zip(events, found, strict=True):
            if not isinstance(answer, CallError):
                self.waiting[answer] = event
            elif isinstance(answer, _ALL):
                raise answer
            else:
                self.refused[event.job] = answer.reason
            # By which time the domain lists events, that of the event or of its post, is not documented.
            self._oldest = min(self._oldest, parse_iso(event.time) or self._oldest)

    def settle(self) -> str:
        """Take off the list what the domain has processed.

        Returns:
            Why the domain could not be asked; empty if it was.

        Raises:
            CallError: It may not be asked.
        """
        seen: set[str] = set()
        try:
            for found in self._domain.events(self._oldest - _CLOCKS):
                if found.event in self.waiting:
                    seen.add(found.event)
                    self._settle_one(found)
                if not self.waiting:
                    return ""
            for event in [each for each in self.waiting if each not in seen]:
                self._settle_one(self._domain.event(event))
        except AccessDeniedError:
            raise
        except CallError as error:
            return error.reason
        return ""

    def look(self) -> Mapping[str, bool]:
        """Which tables have something upstream; without those that could not be asked about."""
        found = answers(
            self._domain.sources,
            self._tables,
            (CallError,),
            max_concurrency=self._settings.max_concurrency,
        )
        return {
            table: count > 0
            for table, count in zip(self._tables, found, strict=True)
            if not isinstance(count, CallError)
        }

    def _settle_one(self, found: PostedEvent) -> None:
        if found.status == _SUCCESS:
            event = self.waiting.pop(found.event)
            self._tables += [table for table in event.tables if len(table) <= MAX_IDENTIFIER]
        elif found.status == _FAILED:
            event = self.waiting.pop(found.event)
            if found.created is not None and found.created < self._started - _CLOCKS:
                # The token is that of an earlier post, which had failed: post anew under another one.
                self.waiting[self._domain.post(event.body, f"{event.digest}-{found.event}")] = event
            else:
                self.refused[event.job] = f"DataZone failed to process its event {found.event}"


def _note(event: PreparedEvent, linked: Mapping[str, bool]) -> str:
    """What else is to be told of an event."""
    notes = [f"without {' and '.join(event.left_out)}, for its size"] if event.left_out else []
    for table in event.tables:
        if table in linked:
            notes.append("linked" if linked[table] else f"not linked: nothing is upstream of {table} there")
    return "; ".join(notes)
