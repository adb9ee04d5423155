"""What a push and a clean ask of a kind of catalog that holds tables and takes lineage.

A further kind is a subclass of `LineageCatalog` in a folder of its own, and an entry in
`every_catalog.every_catalog`.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from lineage_bridge_dagster.catalogs.plans import NoWrite, PlannedChange, TableRevision, Wanted
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.lineage.ownership import PushOptions
from lineage_bridge_dagster.lineage.push_results import PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import utc_now

logger = logging.getLogger(__name__)


class PushTarget(ABC):
    """A table to push to."""

    __slots__ = ()

    node: Node

    @property
    @abstractmethod
    def names(self) -> tuple[str, str]:
        """The database, or the catalog with the namespace, and the table."""

    @property
    def dotted(self) -> str:
        """Its name in messages."""
        return ".".join(self.names)

    def result(self, status: PushStatus, reason: str = "", hint: str = "", **changes: Any) -> TableResult:
        """The result of its push; without changes, of one that did not get as far as reading the table."""
        return TableResult(self.node.node_id, *self.names, status, reason, hint, **changes)

    def bug(self, error: Exception) -> TableResult:
        """The failure of a table through an error of ours; call it where the error is handled."""
        logger.exception("The push to %s failed", self.dotted)
        return self.result(
            PushStatus.FAILED,
            f"{type(error).__name__}: {error}",
            "This is a bug: the log has the traceback.",
        )


class TableRecord(Protocol):
    """A table as its catalog returned it."""

    @property
    def state(self) -> TableRevision: ...


T = TypeVar("T", bound=PushTarget)
R = TypeVar("R", bound=TableRecord)
C = TypeVar("C", bound=PlannedChange)


class LineageCatalog(ABC, Generic[T, R, C]):
    """A kind of catalog: which tables it has, and how one is read, planned and written. Thread-safe.

    `clock` is the time for `last_synced`; `sleep` waits between attempts at one table, in seconds.
    """

    def __init__(
        self,
        settings: PushSettings,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.sleep = sleep
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()

    @property
    def calls(self) -> Mapping[str, int]:
        """The calls so far, by operation."""
        return self._calls

    def count(self, operation: str) -> None:
        with self._lock:
            self._calls[operation] += 1

    @abstractmethod
    def tables(self, graph: Graph) -> Iterable[Node]:
        """The tables of a graph that are, or will be, in a catalog of this kind."""

    def exists(self, node: Node) -> bool:  # noqa: ARG002 - Glue lacks some
        """Whether the discovery found the table in its catalog."""
        return True

    @abstractmethod
    def names_of(self, node: Node) -> Iterable[str]:
        """The names by which a table is selected, among them its node id."""

    @abstractmethod
    def targets(self, nodes: Iterable[Node]) -> Iterator[T | TableResult]:
        """The target of each node, or the result of a table that cannot be pushed to."""

    def read_many(self, targets: Iterable[T], *, each: bool = False) -> Iterator[tuple[T, R | None]]:  # noqa: ARG002
        """Each target with its table, or None if `read` has to read it.

        Args:
            each: Whether those that no call for several returns are read one by one, if they can be.
        """
        return ((target, None) for target in targets)

    @abstractmethod
    def read(self, target: T) -> R:
        """Read a table.

        Raises:
            CallError: `NotFoundError` if it does not exist.
        """

    def absence(self, target: T) -> tuple[str, str] | None:
        """Reason and hint of skipping a missing table; None if its absence is an error."""

    @staticmethod
    @abstractmethod
    def plan(table: R, wanted: Wanted, options: PushOptions) -> NoWrite | C:
        """Decide what to do with a table as it was read. Pure."""

    @staticmethod
    def facts_of(table: Any) -> dict[str, str]:  # noqa: ARG004
        """Facts that tell a table's writers apart, kept to be compared the next time. Pure."""
        return {}

    @staticmethod
    def likely_writer(table: Any, before: Mapping[str, str], *, survived: bool = False) -> str:  # noqa: ARG004
        """Who likely took the lineage away, with the evidence, as a clause. Pure.

        Args:
            before: The facts of the table when it was last seen with its lineage.
            survived: Whether the lineage has outlived earlier data commits, so that one proves nothing.
        """
        return "unknown"

    @abstractmethod
    def write(self, target: T, table: R, change: C) -> TableRevision:
        """Apply the change, provided that the table is still the one that was read; return what it became.

        Raises:
            CallError: its class tells what became of the write.
        """

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether a name of a table, as a user writes it, is that of a catalog of this kind."""

    @abstractmethod
    def find(self, name: str) -> tuple[T, R | None] | TableResult:
        """The table of a name if it carries our lineage; else what keeps it from being cleaned."""

    @abstractmethod
    def find_all(self) -> Iterator[tuple[T, R | None] | TableResult]:
        """Every table that carries our lineage, and a failure for each part that cannot be read.

        Raises:
            CallError: nothing can be listed.
        """
