"""Which API scopes a discovery read, and how completely.

"Could not be read" never means "does not exist": every list call belongs to a scope, and only a scope that
was fully read can prove that something is gone.
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


#: The API of the offsets of one connector, whose scope has the place `{cluster}/{connector id}`.
CONNECTOR_OFFSETS = "connector_offsets"

#: A REST catalog of Iceberg tables, which is the scope's place.
ICEBERG = "iceberg"

#: A source of events of OpenLineage, which is the scope's place.
OPENLINEAGE = "openlineage"

#: For each API, the API of the scope above: fully read, it proves that a scope below no longer exists.
PARENTS = {
    "environments": None,
    "clusters": "environments",
    "compute_pools": "environments",
    "schema_registry": "environments",
    "kafka": "clusters",
    "mirrors": "clusters",
    "consumer_groups": "clusters",
    "connect": "clusters",
    CONNECTOR_OFFSETS: "connect",
    "ksqldb_clusters": "environments",
    "ksqldb": "ksqldb_clusters",
    "tableflow": "clusters",
    "catalog_integrations": "clusters",
    "flink": "compute_pools",
    "glue": None,
    ICEBERG: None,
    OPENLINEAGE: None,
}

#: APIs that only add to what another API reports: a failure hides nothing that the other one tells.
SUPPLEMENTARY = frozenset({CONNECTOR_OFFSETS})
#: APIs that report no sources of tables.
_NO_TABLE_SOURCES = frozenset({"mirrors", "consumer_groups"})
#: APIs that report only tables at the end of lineage: a failure hides no source of another table.
_TARGETS = frozenset({ICEBERG})


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """One API in one place: an environment, and a cluster, region or database within it.

    Nodes and edges have its text form `api[:environment[:place]]` in `attributes["scope"]`. For `glue` the
    environment is empty and the place is the AWS region: `glue::us-east-1`.
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
        if self.api == CONNECTOR_OFFSETS:
            return Scope(above, self.environment, self.place.partition("/")[0])
        return Scope(above, "" if above == "environments" else self.environment)


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """The names of what a scope reports and whose lineage stays open, and of which kind: see `unknowns`."""

    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScopeReport:
    """How completely one scope was read. `reason` states what to do next; it is empty if complete.

    Attributes:
        by_name: Whether everything expected in the scope was asked for by name, since its lists are denied.
            The scope is partial then, but nothing that was expected and is not reported exists.
    """

    scope: Scope
    status: Status
    reason: str = ""
    count: int | None = None
    notes: tuple[Note, ...] = ()
    by_name: bool = False

    @property
    def proves_absence(self) -> bool:
        """Whether something in the scope that was not reported no longer exists."""
        return self.status is Status.COMPLETE or self.by_name


class Coverage:
    """The reports of one discovery, one per scope. Of two reports for a scope, the worse is kept."""

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
    def fully_read(self) -> int:
        """The number of scopes that were fully read."""
        return sum(report.status is Status.COMPLETE for report in self)

    @property
    def complete(self) -> bool:
        """Whether no scope is incomplete. An empty coverage is not complete."""
        return bool(self._reports) and not self.incomplete

    @property
    def incomplete(self) -> list[ScopeReport]:
        """The reports of scopes that were not fully read and should be.

        A supplementary API may be denied for good, so that is left out: its nodes say so.
        """
        return [
            report
            for report in self
            if report.status is not Status.COMPLETE
            and not (report.status is Status.DENIED and report.scope.api in SUPPLEMENTARY)
        ]

    @property
    def hiding(self) -> list[ScopeReport]:
        """The incomplete reports of scopes in which something may exist that was not reported."""
        return [report for report in self.incomplete if not report.by_name]

    @property
    def covers_all_table_sources(self) -> bool:
        """Whether a table that has nothing upstream in this discovery really has nothing upstream.

        Denied access to mirrors or consumer groups does not count, nor does a failure of a supplementary API:
        it hides no table's topic.
        """
        return bool(self._reports) and all(
            report.proves_absence
            or report.scope.api in SUPPLEMENTARY | _TARGETS
            or (report.status is Status.DENIED and report.scope.api in _NO_TABLE_SOURCES)
            for report in self
        )

    @property
    def covers_all_tables(self) -> bool:
        """Whether a table that this discovery does not have no longer exists."""
        return self.covers_all_table_sources and all(
            report.proves_absence for report in self if report.scope.api in _TARGETS
        )

    def proves_absence(self, scope: Scope) -> bool:
        """Whether something in this scope that was not reported no longer exists.

        True if the scope was fully read or asked by name, or was not read because the scope above it was,
        and no longer names it (a deleted cluster's topics are gone with it).
        """
        report = self._reports.get(scope)
        if report is not None:
            return report.proves_absence
        above = scope.parent
        return above is not None and self.proves_absence(above)
