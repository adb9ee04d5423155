"""What a discovery asked, and how much of an answer it got.

"Could not ask" is never "nothing there": every list call belongs to a scope, and only a scope that answered
whole may make things disappear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    COMPLETE = "complete"
    PARTIAL = "partial"
    DENIED = "denied"
    FAILED = "failed"


#: The scope whose complete answer proves that a scope below it no longer exists, by API.
PARENTS = {
    "environments": None,
    "clusters": "environments",
    "compute_pools": "environments",
    "schema_registry": "environments",
    "kafka": "clusters",
    "mirrors": "clusters",
    "consumer_groups": "clusters",
    "connect": "clusters",
    "ksqldb_clusters": "environments",
    "ksqldb": "ksqldb_clusters",
    "tableflow": "clusters",
    "catalog_integrations": "clusters",
    "flink": "compute_pools",
    "glue": None,
}


#: APIs that tell of nothing that is itself the source of a table.
_NO_TABLES_SOURCE = frozenset({"mirrors", "consumer_groups"})


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """One API asked in one place: `api`, the environment, and the cluster, region or database within it.

    Its text form `api[:environment[:place]]` is what nodes and edges carry in `attributes["scope"]`. For
    `glue` the environment is empty and the place is the AWS region: `glue::us-east-1`.
    """

    api: str
    environment: str = ""
    place: str = ""

    def __str__(self) -> str:
        return ":".join((self.api, self.environment, self.place)).rstrip(":")

    @classmethod
    def parse(cls, text: str) -> Scope:
        api, _, rest = text.partition(":")
        environment, _, place = rest.partition(":")
        return cls(api, environment, place)

    @property
    def parent(self) -> Scope | None:
        above = PARENTS.get(self.api)
        if above is None:
            return None
        return Scope(above, "" if above == "environments" else self.environment)


@dataclass(frozen=True, slots=True)
class ScopeReport:
    """How asking one scope went. `reason` says what to do next; empty when complete."""

    scope: Scope
    status: Status
    reason: str = ""
    count: int | None = None


class Coverage:
    """The reports of one discovery, one a scope; of two for the same scope the worse one stands."""

    _WORSE = (Status.COMPLETE, Status.PARTIAL, Status.DENIED, Status.FAILED)

    def __init__(self, reports: Iterable[ScopeReport] = ()) -> None:
        self._reports: dict[Scope, ScopeReport] = {}
        for report in reports:
            self.add(report)

    def __iter__(self) -> Iterator[ScopeReport]:
        return iter(self._reports.values())

    def __len__(self) -> int:
        return len(self._reports)

    def add(self, report: ScopeReport) -> None:
        known = self._reports.get(report.scope)
        if known is None or self._WORSE.index(report.status) >= self._WORSE.index(known.status):
            self._reports[report.scope] = report

    def get(self, scope: Scope) -> ScopeReport | None:
        return self._reports.get(scope)

    @property
    def complete(self) -> bool:
        """Whether every scope answered whole. A coverage that asked nothing is not complete."""
        return bool(self._reports) and all(r.status is Status.COMPLETE for r in self)

    @property
    def incomplete(self) -> list[ScopeReport]:
        return [report for report in self if report.status is not Status.COMPLETE]

    @property
    def tells_of_all_tables(self) -> bool:
        """Whether a table that has nothing upstream in this discovery really has nothing any more.

        That a key may not see mirrors or consumer groups takes no table its topic, so it does not count.
        """
        return bool(self._reports) and all(
            report.status is Status.COMPLETE
            or (report.status is Status.DENIED and report.scope.api in _NO_TABLES_SOURCE)
            for report in self
        )

    def proves_absence(self, scope: Scope) -> bool:
        """Whether something of this scope that was not reported is really gone.

        True when the scope answered whole, or was never asked because a complete answer above it no longer
        names it (a deleted cluster's topics are gone with it).
        """
        report = self._reports.get(scope)
        if report is not None:
            return report.status is Status.COMPLETE
        above = scope.parent
        return above is not None and self.proves_absence(above)
