"""A DataZone domain as a receiver of events.

PostLineageEvent answers before DataZone has read an event. An event has arrived once the domain lists it as
SUCCESS; a table is linked once GetLineageNode finds what feeds it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

from lineage_bridge_dagster.catalogs.calls import answers
from lineage_bridge_dagster.catalogs.errors import (
    AccessDeniedError,
    CallError,
    NotFoundError,
    UnreachableError,
)
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.datazone.domain import DataZoneDomain, PostedEvent, datazone_client
from lineage_bridge_dagster.datazone.events import (
    MAX_IDENTIFIER,
    EventTooLargeError,
    PreparedEvent,
    prepared,
)
from lineage_bridge_dagster.datazone.settings import DataZoneSettings
from lineage_bridge_dagster.datazone.topic_assets import TopicAssets
from lineage_bridge_dagster.lineage.times import parse_iso, utc_now
from lineage_bridge_dagster.openlineage.emission import Arrival, EventRefused, ReceiverDown
from lineage_bridge_dagster.openlineage.events import Event
from lineage_bridge_dagster.openlineage.names import OpenLineageName

_SUCCESS, _FAILED = "SUCCESS", "FAILED"
#: Seconds between looks, the first and the longest.
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 15.0
#: The clocks of this machine and of AWS may differ by as much.
_CLOCKS = timedelta(minutes=5)
#: Errors after which no other event has a better chance.
_ALL = (AccessDeniedError, NotFoundError, UnreachableError)


class DataZoneReceiver:
    """Posts events to a domain, and waits until it has processed them. `send` is thread-safe.

    Nothing is remembered here: an event that is sent again has the client token that it had, so that the
    domain answers with the event that it has.
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
        self.at_once = settings.max_concurrency
        self._domain = domain
        self._settings = settings
        self._assets = TopicAssets(domain, settings) if settings.topic_asset_type else None
        self._sleep = sleep
        self._clock = clock
        self._started = clock()
        self._lock = threading.Lock()
        #: DataZone's id -> the event that it has not processed yet.
        self._waiting: dict[str, PreparedEvent] = {}

    def send(self, event: Event) -> None:
        """Post an event."""
        try:
            posted = prepared(event)
            known = self._domain.post(posted.body, posted.digest)
        except EventTooLargeError as error:
            raise EventRefused(error.message) from error
        except _ALL as error:
            raise ReceiverDown(error.reason) from error
        except CallError as error:
            raise EventRefused(error.reason) from error
        with self._lock:
            self._waiting[known] = posted

    def confirm(self) -> Mapping[OpenLineageName, Arrival]:
        """Wait until the domain has processed what was posted, and see which tables are linked."""
        events, refused = list(self._waiting.values()), dict[OpenLineageName, str]()
        pause, end = _FIRST_WAIT, self._clock() + timedelta(seconds=self._settings.wait_seconds)
        while self._waiting:
            reason = self._settle(refused)
            if not self._waiting:
                break
            if self._clock() + timedelta(seconds=pause) > end:
                count = len(self._waiting)
                self._waiting.clear()
                raise ReceiverDown(reason or f"it has not processed {count} of the events that it took yet")
            self._sleep(pause)
            pause = min(2 * pause, _LONGEST_WAIT)
        linked = self._linked(events)
        problems = self._assets.create(event.topics for event in events) if self._assets else {}
        return {
            event.job: Arrival(refused.get(event.job, ""), _note(event, linked, problems)) for event in events
        }

    def close(self) -> None:
        """Nothing is held."""

    def _settle(self, refused: dict[OpenLineageName, str]) -> str:
        """Take off the list what the domain has processed; return why it could not be asked, if so."""
        # By which time the domain lists events, that of the event or of its post, is not documented.
        times = [at for event in self._waiting.values() if (at := parse_iso(event.time)) is not None]
        seen: set[str] = set()
        try:
            for found in self._domain.events(min(self._started, *times) - _CLOCKS):
                if found.event in self._waiting:
                    seen.add(found.event)
                    self._settle_one(found, refused)
                if not self._waiting:
                    return ""
            for event in [each for each in self._waiting if each not in seen]:
                self._settle_one(self._domain.event(event), refused)
        except AccessDeniedError as error:
            self._waiting.clear()
            raise ReceiverDown(error.reason) from error
        except CallError as error:
            return error.reason
        return ""

    def _settle_one(self, found: PostedEvent, refused: dict[OpenLineageName, str]) -> None:
        if found.status not in (_SUCCESS, _FAILED):
            return
        event = self._waiting[found.event]
        if found.status == _FAILED:
            if found.created is not None and found.created < self._started - _CLOCKS:
                # This token is that of an earlier post, which failed: post the event again with another.
                self._waiting[self._domain.post(event.body, f"{event.digest}-{found.event}")] = event
            else:
                refused[event.job] = f"DataZone failed to process its event {found.event}"
        del self._waiting[found.event]

    def _linked(self, events: Iterable[PreparedEvent]) -> Mapping[str, bool]:
        """Which tables have something upstream; without those that could not be asked about."""
        tables = [table for event in events for table in event.tables if len(table) <= MAX_IDENTIFIER]
        found = answers(
            self._domain.sources, tables, (CallError,), max_concurrency=self._settings.max_concurrency
        )
        return {
            table: count > 0
            for table, count in zip(tables, found, strict=True)
            if not isinstance(count, CallError)
        }


def datazone_receivers(settings: DataZoneSettings, aws: AwsSettings) -> list[DataZoneReceiver]:
    """The configured domain, if there is one.

    Raises:
        ConfigurationError: No region is set, or topics are to be assets of no project.
    """
    if not settings.domain:
        return []
    client = datazone_client(aws, settings.max_concurrency)
    return [DataZoneReceiver(DataZoneDomain(client, settings.domain), settings)]


def _note(event: PreparedEvent, linked: Mapping[str, bool], problems: Mapping[str, str]) -> str:
    """What the receiver reports about an event beyond its arrival."""
    notes = [f"without {' and '.join(event.left_out)}, for its size"] if event.left_out else []
    notes += [
        "linked" if linked[table] else f"not linked: nothing is upstream of {table} there"
        for table in event.tables
        if table in linked
    ]
    notes += [f"{topic} is not an asset: {problems[topic]}" for topic in event.topics if topic in problems]
    return "; ".join(notes)
