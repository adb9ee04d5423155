"""Events that runs send to receivers of OpenLineage and to DataZone, beside what they push."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from logging import Logger

from dagster import DagsterInstance

from lineage_bridge_dagster.dagster_internals.instance import keep_values, read_values
from lineage_bridge_dagster.errors import LineageBridgeError, is_interruption
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.openlineage.emission import (
    EmissionReport,
    Receiver,
    ReceiverReport,
    emit,
    end_all,
)
from lineage_bridge_dagster.openlineage.names import OpenLineageName
from lineage_bridge_dagster.openlineage.sent import (
    SHARDS,
    Jobs,
    Sent,
    SentEvents,
    jobs_text,
    read_jobs,
    shard_of,
)
from lineage_bridge_dagster.settings import SettingsReader

#: Shards that are written in one statement.
_AT_ONCE = 64


class SentOfInstance:
    """Keeps what receivers have in the storage of the Dagster instance, which all of its hosts share.

    It is there before any catalog is, needs no Spark, and is written by key: a run over one table writes a
    few shards.

    Args:
        name: Of the component: two of them end no runs of each other.
    """

    def __init__(self, instance: DagsterInstance, name: str) -> None:
        self._instance = instance
        self._name = name

    def read(self, receiver: str, shards: Collection[int] | None = None) -> Jobs:
        keys = [self._key(receiver, shard) for shard in (range(SHARDS) if shards is None else shards)]
        return read_jobs(read_values(self._instance, keys).values())

    def write(self, receiver: str, jobs: Jobs, shards: Collection[int]) -> None:
        rows: dict[int, dict[OpenLineageName, Sent]] = {shard: {} for shard in sorted(shards)}
        for job, sent in jobs.items():
            if (found := rows.get(shard_of(job))) is not None:
                found[job] = sent
        texts = [(self._key(receiver, shard), jobs_text(found)) for shard, found in rows.items()]
        for start in range(0, len(texts), _AT_ONCE):
            keep_values(self._instance, dict(texts[start : start + _AT_ONCE]))

    def _key(self, receiver: str, shard: int) -> str:
        return f"lineage_bridge/openlineage/{self._name}/{receiver}/{shard}"


@dataclass(frozen=True)
class LineageEvents:
    """Sends the events of a component, if it is to send any. It never fails a run.

    Attributes:
        sources: By name, the receivers that are configured in one way; called when something runs.
    """

    sources: Mapping[str, Callable[[], Sequence[Receiver]]]
    name: str = ""

    @classmethod
    def of(cls, settings: SettingsReader, name: str) -> LineageEvents:
        """Those that the settings of a component name."""

        def openlineage() -> Sequence[Receiver]:
            if not settings.openlineage().send:
                return []
            from lineage_bridge_dagster.openlineage.receivers import receivers

            return receivers()

        def datazone() -> Sequence[Receiver]:
            if not (found := settings.datazone()).domain:
                return []
            from lineage_bridge_dagster.datazone.receiver import datazone_receivers

            return datazone_receivers(found, settings.aws())

        return cls({"openlineage": openlineage, "datazone": datazone}, name)

    def send(
        self,
        instance: DagsterInstance,
        discovery: Discovery,
        log: Logger,
        tables: Collection[str] | None = None,
    ) -> EmissionReport | None:
        """Send what changed; None if nothing is to be sent.

        Args:
            instance: Keeps what was sent.
            log: Receives a line for each receiver.
            tables: Only what is upstream of these tables, by node id; None means all.
        """
        return self._each(instance, log, lambda found, kept: emit(discovery, found, kept, tables=tables))

    def end(self, instance: DagsterInstance, log: Logger, *, dry_run: bool = False) -> EmissionReport | None:
        """End all runs that are open at the receivers, and forget what they have; arguments as of `send`."""
        return self._each(instance, log, lambda found, kept: end_all(found, kept, dry_run=dry_run))

    def _each(
        self,
        instance: DagsterInstance,
        log: Logger,
        do: Callable[[Sequence[Receiver], SentEvents], EmissionReport],
    ) -> EmissionReport | None:
        reports: list[ReceiverReport] = []
        receivers: list[Receiver] = []
        for name, source in self.sources.items():
            with _reporting(name, reports, log):
                receivers += source()
        if receivers:
            # All receivers at once, so that the events are made once.
            with _reporting("events", reports, log):
                reports += do(receivers, SentOfInstance(instance, self.name)).receivers
        for report in reports:
            (log.info if report.ok else log.warning)("Events of lineage: %s", report)
        return EmissionReport(reports) if reports else None


@contextmanager
def _reporting(name: str, reports: list[ReceiverReport], log: Logger) -> Iterator[None]:
    """Report an error instead of raising it, unless it ends the run on purpose."""
    try:
        yield
    except BaseException as error:
        if is_interruption(error):
            raise
        if not isinstance(error, LineageBridgeError):
            log.exception("Sending events of lineage failed")
        reason = error.reason if isinstance(error, LineageBridgeError) else repr(error)
        reports.append(ReceiverReport(name, reason=reason))


def state_text(report: EmissionReport | None, processes: Sequence[str]) -> str | None:
    """What each receiver has of the events of some processes, as text; None if nothing is sent."""
    if report is None:
        return None
    return "; ".join(f"{each.receiver}: {each.state_of(processes)}" for each in report.receivers) or None
