"""Which old runs may be deleted, and why the others stay. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from lineage_bridge_dagster.text import plural


class Kept(StrEnum):
    """Why a run stays."""

    UNFINISHED = "not finished"
    RECENT = "not old enough"
    NEWEST = "the newest of its job, schedule, sensor or partition"
    ORIGIN = "an unfinished run repeats it"
    BACKFILL = "its backfill goes on"
    ASSET = "an asset shows its event or check result"


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run.

    Attributes:
        job: its name.
        ended: Unix time in seconds of its last change; None if it has not finished.
        is_newest: of all runs, or of all that succeeded, of its job, schedule, sensor or partition.
        is_origin: an unfinished run is a re-execution of it.
        in_backfill: its backfill has not finished.
        assets: keys of the assets whose last event or check result of some kind is in it.
    """

    job: str
    ended: float | None
    is_newest: bool = False
    is_origin: bool = False
    in_backfill: bool = False
    assets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RunRetention:
    """Which runs are to go, of those of `jobs`.

    Attributes:
        days: age up to which a finished run stays.
        jobs: names of the jobs whose runs go; None for every job of the Dagster instance.
        own_jobs: names of the jobs whose assets are all in `own_assets`.
        own_assets: keys of the assets that exist. What one of `own_jobs` told about any other, whose table or
            topic is gone, keeps no run. None if they are not known.
    """

    days: float
    jobs: frozenset[str] | None
    own_jobs: frozenset[str] = frozenset()
    own_assets: Collection[str] | None = None

    def before(self, now: float) -> float:
        """The Unix time before which a run has to have ended."""
        return now - self.days * 86_400

    def reason_to_keep(self, run: RunFacts, now: float) -> Kept | None:
        """Why a run stays; None if it may go."""
        if run.ended is None:
            return Kept.UNFINISHED
        if run.ended >= self.before(now):
            return Kept.RECENT
        if run.is_newest:
            return Kept.NEWEST
        if run.is_origin:
            return Kept.ORIGIN
        if run.in_backfill:
            return Kept.BACKFILL
        shown = run.assets
        if self.own_assets is not None and run.job in self.own_jobs:
            shown = frozenset(asset for asset in shown if asset in self.own_assets)
        return Kept.ASSET if shown else None


@dataclass(slots=True)
class RetentionReport:
    """What became of the old runs.

    Attributes:
        deleted: number of runs by job; in a dry run those that would be deleted.
        kept: number of old runs by the reason for which they stay.
        snapshots: deleted descriptions of jobs and plans that no run has any more.
        is_complete: whether all old runs were looked at; otherwise the next time continues.
        logs_problem: why what the runs had printed was not deleted; empty if it was.
    """

    deleted: Counter[str] = field(default_factory=Counter)
    kept: Counter[Kept] = field(default_factory=Counter)
    snapshots: int = 0
    is_complete: bool = True
    logs_problem: str = ""


def retention_sentence(report: RetentionReport, *, dry_run: bool = False) -> str:
    """What became of the old runs, in one sentence."""
    parts = [f"{plural(report.deleted.total(), 'old run')} {'would be ' if dry_run else ''}deleted"]
    if report.snapshots:
        parts.append(
            f"{plural(report.snapshots, 'snapshot')} of jobs and plans deleted that no run has any more"
        )
    parts += [f"{count:,} kept: {reason}" for reason, count in sorted(report.kept.items())]
    if not report.is_complete:
        parts.append("the next time continues")
    return "; ".join(parts)
