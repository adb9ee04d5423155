"""Sending events: only those that a receiver does not have yet, and the ends of runs that are over.

Each receiver stands alone. One that is down, or refuses an event, changes nothing for the others; what it did
not take, it gets the next time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.times import iso, utc_now
from lineage_bridge_dagster.openlineage.events import Event, end_of_run, process_events
from lineage_bridge_dagster.openlineage.names import OpenLineageName
from lineage_bridge_dagster.openlineage.sent import Jobs, Sent, SentEvents, shard_of

#: Jobs whose events are sent before they must be confirmed, and before what was sent is written down.
_BATCH, _CHECKPOINT = 500, 5_000
#: Up to this many tables, only their jobs are looked up in what receivers have; for more, all of it is read.
_FEW = 100
#: A receiver that has refused this many events and accepted none gets no more.
_REFUSALS = 10


class EventRefused(Exception):
    """The receiver does not take this event; it may take others."""


class ReceiverDown(Exception):
    """The receiver takes no events now."""


class Arrival(NamedTuple):
    """What a receiver tells of a job's event after a while.

    Attributes:
        refused: Why it does not take it after all; empty if it has it.
        note: What else is worth knowing.
    """

    refused: str = ""
    note: str = ""


class Receiver(Protocol):
    """Takes events.

    Attributes:
        name: What it is, without secrets.
        key: Tells it from others, in what is kept of the events that it has.
        url: Where it is, if it is behind a URL.
        at_once: How many events it takes at once.
    """

    name: str
    key: str
    url: str
    at_once: int

    def send(self, event: Event) -> None:
        """Send an event.

        Raises:
            EventRefused: It refuses this event.
            ReceiverDown: It accepts no event at all.
        """

    def confirm(self) -> Mapping[OpenLineageName, Arrival]:
        """Return once all that was sent has arrived, with what is to be told of some jobs' events.

        Raises:
            ReceiverDown: Some of it has not.
        """

    def close(self) -> None:
        """Give up its connections."""


@dataclass
class ReceiverReport:
    """What became of the events for one receiver.

    Attributes:
        receiver: Its name.
        dry_run: Whether nothing was sent.
        sent: Events that it accepted now, ends of runs included.
        unchanged: Jobs whose event it had already, or that of a later discovery.
        refused: By process (node id), why it refused the event.
        not_sent: Events that are left for the next time.
        reason: Why they are left.
        waiting: The processes of these events.
        at: By process, when its event was sent.
        notes: By process, what the receiver told of its event now.
    """

    receiver: str
    dry_run: bool = False
    sent: int = 0
    unchanged: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    not_sent: int = 0
    reason: str = ""
    waiting: set[str] = field(default_factory=set)
    at: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not (self.refused or self.not_sent or self.reason)

    def __str__(self) -> str:
        parts = [f"{self.sent} {'would be ' if self.dry_run else ''}sent", f"{self.unchanged} unchanged"]
        if self.refused:
            parts.append(f"{len(self.refused)} refused ({next(iter(self.refused.values()))})")
        if self.not_sent or self.reason:
            parts.append(f"{self.not_sent} left for the next time ({self.reason})")
        return f"{self.receiver}: {', '.join(parts)}"

    def state_of(self, processes: Collection[str]) -> str:
        """What it has of the events of some processes, in a few words."""
        if waiting := [self.reason for each in processes if each in self.waiting]:
            return f"not sent: {waiting[0]}"
        if refused := [self.refused[each] for each in processes if each in self.refused]:
            return f"refused: {refused[0]}"
        times = [self.at[each] for each in processes if each in self.at]
        if not times:
            return f"not sent: {self.reason}" if self.reason else "nothing to send"
        notes = dict.fromkeys(self.notes[each] for each in processes if each in self.notes)
        return "; ".join((f"sent, the last change at {max(times)}", *notes))


@dataclass(frozen=True)
class EmissionReport:
    """What became of the events, by receiver."""

    receivers: Sequence[ReceiverReport] = ()

    @property
    def ok(self) -> bool:
        return all(receiver.ok for receiver in self.receivers)

    @property
    def changed(self) -> bool:
        """Whether a receiver took events now."""
        return any(receiver.sent for receiver in self.receivers)

    def __str__(self) -> str:
        return "; ".join(map(str, self.receivers)) or "OPENLINEAGE_DISABLED is true: nothing is sent"


def emit(
    discovery: Discovery,
    receivers: Sequence[Receiver],
    kept: SentEvents,
    *,
    tables: Collection[str] | None = None,
    account: str = "",
    dry_run: bool = False,
) -> EmissionReport:
    """Send each receiver the events that it does not have.

    Runs that are over are ended: those of a job whose content changed, which has a new run, and, if a whole
    discovery proves it, those of jobs that are gone.

    Args:
        kept: What they have.
        tables: Only what is upstream of these tables, by node id; None means all.
        account: As for `events`.
        dry_run: Only compare.
    """
    whole = tables is None and discovery.coverage.covers_all_table_sources
    found: Iterable[tuple[str, Event]] = process_events(discovery, account=account, tables=tables)
    shards = None
    if tables is not None and len(tables) <= _FEW:
        found = list(found)
        shards = {shard_of(_job_of(event)) for _, event in found}
    # A run may have been planned with an older discovery than the one that sent last.
    as_of = "" if tables is None else discovery.discovered_at or ""
    runs = [_Emission(receiver, kept, shards, as_of, dry_run) for receiver in receivers]
    seen: set[OpenLineageName] = set()
    for process, event in found:
        if whole:
            seen.add(_job_of(event))
        for run in runs:
            run.event(process, event)
    for run in runs:
        if whole:
            run.end_others(seen)
        run.finish()
    return EmissionReport([run.report for run in runs])


def end_all(
    receivers: Sequence[Receiver],
    kept: SentEvents,
    *,
    dry_run: bool = False,
) -> EmissionReport:
    """End all runs that are open at receivers, and forget what they have.

    The specification has no event that deletes anything: what was sent stays in their history.
    """
    runs = [_Emission(receiver, kept, None, "", dry_run) for receiver in receivers]
    for run in runs:
        run.end_others(())
        run.finish()
    return EmissionReport([run.report for run in runs])


@dataclass(frozen=True, slots=True)
class _Delivery:
    """Events of one job, in order, and what its receiver has of it then: nothing, if its run is over."""

    process: str
    job: OpenLineageName
    events: Sequence[Event]
    then: Sent | None


class _Emission:
    """The events for one receiver."""

    def __init__(
        self,
        receiver: Receiver,
        kept: SentEvents,
        shards: Collection[int] | None,
        as_of: str,
        dry_run: bool,
    ) -> None:
        self.report = ReceiverReport(receiver.name, dry_run)
        self._receiver = receiver
        self._kept = kept
        self._as_of = as_of
        self._now = iso(utc_now())
        self._known: Jobs = kept.read(receiver.key, shards)
        self._pool = ThreadPoolExecutor(receiver.at_once, thread_name_prefix="openlineage")
        self._batch: list[_Delivery] = []
        self._dirty: set[int] = set()
        self._unwritten = self._refusals = 0

    def event(self, process: str, event: Event) -> None:
        job = _job_of(event)
        known, sent = self._known.get(job), Sent(event["run"]["runId"], event["eventType"], self._now)
        is_newer = known is not None and bool(self._as_of) and known.at > self._as_of
        if known is not None and (known[:2] == sent[:2] or is_newer):
            self.report.unchanged += 1
            self.report.at[process] = max(known.at, self.report.at.get(process, ""))
            return
        events = [event]
        if known is not None and known.run_id != sent.run_id and not known.is_over:
            # Its content changed: what ran so far is over.
            events.insert(0, end_of_run(job, known.run_id, "COMPLETE", event["eventTime"]))
        self._add(_Delivery(process, job, events, sent))

    def end_others(self, seen: Collection[OpenLineageName]) -> None:
        """End the runs of all jobs but these, and forget them."""
        for job, sent in list(self._known.items()):
            if job in seen:
                continue
            if sent.is_over:
                self._forget(job)
            else:
                self._add(_Delivery("", job, [end_of_run(job, sent.run_id, "ABORT", self._now)], None))

    def finish(self) -> None:
        self._deliver_batch()
        self._write()
        self._pool.shutdown()
        self._receiver.close()

    def _add(self, delivery: _Delivery) -> None:
        if self.report.reason:
            self._left(delivery)
            return
        self._batch.append(delivery)
        if len(self._batch) >= _BATCH:
            self._deliver_batch()

    def _deliver_batch(self) -> None:
        batch, self._batch = self._batch, []
        if self.report.dry_run:
            self.report.sent += sum(len(each.events) for each in batch)
            return
        arrived = []
        for each, error in zip(batch, self._pool.map(self._deliver, batch), strict=True):
            if error is None:
                arrived.append(each)
            elif isinstance(error, EventRefused):
                self.report.refused[each.process] = str(error)
            else:
                self._left(each)
        try:
            told = self._receiver.confirm()
        except ReceiverDown as error:
            self.report.reason = str(error)
            for each in arrived:
                self._left(each)
            return
        for each in arrived:
            arrival = told.get(each.job, Arrival())
            if arrival.refused:
                self.report.refused[each.process] = arrival.refused
                continue
            self._took(each)
            if arrival.note:
                self.report.notes[each.process] = arrival.note
        if self._unwritten >= _CHECKPOINT:
            self._write()

    def _deliver(self, delivery: _Delivery) -> Exception | None:
        """Send the events of one job, unless the receiver turned out to be down; in any thread."""
        if self.report.reason:
            return ReceiverDown()
        try:
            for event in delivery.events:
                self._receiver.send(event)
        except EventRefused as error:
            self._refusals += 1
            if self._refusals >= _REFUSALS:
                self.report.reason = f"it refused {_REFUSALS} events in a row, the last one: {error}"
            return error
        except ReceiverDown as error:
            self.report.reason = self.report.reason or str(error)
            return error
        self._refusals = 0
        return None

    def _took(self, delivery: _Delivery) -> None:
        self.report.sent += len(delivery.events)
        if delivery.then is None:
            self._forget(delivery.job)
            return
        self._known[delivery.job] = delivery.then
        self._dirty.add(shard_of(delivery.job))
        self._unwritten += 1
        self.report.at[delivery.process] = self._now

    def _left(self, delivery: _Delivery) -> None:
        self.report.not_sent += len(delivery.events)
        self.report.waiting.add(delivery.process)

    def _forget(self, job: OpenLineageName) -> None:
        self._known.pop(job, None)
        self._dirty.add(shard_of(job))

    def _write(self) -> None:
        if self._dirty and not self.report.dry_run:
            self._kept.write(self._receiver.key, self._known, self._dirty)
        self._dirty, self._unwritten = set(), 0


def _job_of(event: Event) -> OpenLineageName:
    return OpenLineageName(event["job"]["namespace"], event["job"]["name"])
