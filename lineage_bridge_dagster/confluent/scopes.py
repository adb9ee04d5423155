"""Coverage of a discovery: for each scope, how the requests for it went."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from lineage_bridge_dagster.confluent.api.errors import ConfluentError, Forbidden, NotFound, PartialResponse
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.text import ReportLine

log = logging.getLogger(__name__)

#: A request that records its own outcome.
Task = Callable[[], None]
T = TypeVar("T")


class ScopeRecorder:
    """Runs a discovery's list requests and records their outcomes by scope; safe to share between threads."""

    def __init__(self, progress: ReportLine) -> None:
        self.coverage = Coverage()
        self._progress = progress
        self._lock = threading.Lock()
        self._errors: dict[Scope, ConfluentError] = {}

    def progress(self, line: str) -> None:
        """Report one readable line of progress."""
        with self._lock:
            self._progress(line)

    def read(self, scope: Scope, what: str, call: Callable[[], Sequence[T]]) -> list[T]:
        """Run a list request; after a failure, return the part that was read and record the failure."""
        try:
            items = list(call())
        except ConfluentError as error:
            return self._failed(scope, what, error) or []
        with self._lock:
            self.coverage.add(ScopeReport(scope, Status.COMPLETE, count=len(items)))
            self._progress(f"{what}: {len(items)}")
        return items

    def read_optional(
        self,
        scope: Scope,
        what: str,
        call: Callable[[], Sequence[T]],
        *,
        secondary: bool = False,
        may_be_denied: bool = False,
    ) -> list[T] | None:
        """Run a list request for something that not every cluster offers.

        A 404 or 405 means that there is nothing to list, so the scope stays complete. A 403 does not:
        resources known before must not count as deleted, so it is recorded like any other failure.

        Args:
            secondary: the scope has another, primary request; a failure then makes it partial.
            may_be_denied: a 403 loses no node and no edge (topic settings), so the scope stays complete.

        Returns:
            None if the request failed.
        """
        try:
            items = list(call())
        except NotFound as error:
            log.debug("%s: not offered: %s", what, error.message)
            self._complete(scope, None if secondary else 0)
            return []
        except Forbidden as error:
            if not may_be_denied:
                return self._failed(scope, what, error, partial=secondary)
            log.info("%s: denied: %s", what, error.reason)
            self.progress(f"{what}: the key lacks permission")
            self._complete(scope, None)
            return None
        except ConfluentError as error:
            return self._failed(scope, what, error, partial=secondary)
        self._complete(scope, None if secondary else len(items))
        self.progress(f"{what}: {len(items)}")
        return items

    def record_failure(
        self,
        scope: Scope,
        what: str,
        error: ConfluentError,
        count: int | None = None,
        *,
        partial: bool = False,
    ) -> None:
        """Record that a scope was not fully read."""
        with self._lock:
            self._errors[scope] = error
            report = self.report_of(scope, error, self._known_count(scope, count), partial=partial)
            self.coverage.add(report)
            self._progress(f"{what}: {report.status}: {report.reason}")

    @staticmethod
    def report_of(
        scope: Scope, error: ConfluentError, count: int | None = None, *, partial: bool = False
    ) -> ScopeReport:
        """Map an error to a report: partial, denied or failed."""
        if partial or isinstance(error, PartialResponse):
            status = Status.PARTIAL
        else:
            status = Status.DENIED if error.denied else Status.FAILED
        return ScopeReport(scope, status, redact_text(error.reason), count)

    def error_of(self, scope: Scope) -> ConfluentError | None:
        """Why a scope was not fully read; None if it was, or was not requested."""
        return self._errors.get(scope)

    def is_complete(self, scope: Scope) -> bool:
        """Whether the scope was requested and fully read."""
        report = self.coverage.get(scope)
        return report is not None and report.status is Status.COMPLETE

    def _failed(
        self, scope: Scope, what: str, error: ConfluentError, *, partial: bool = False
    ) -> list[T] | None:
        """Record a failure; returns the part that was read, if any."""
        if isinstance(error, PartialResponse):
            self.record_failure(scope, what, error, len(error.items))
            return list(error.items)
        self.record_failure(scope, what, error, partial=partial)
        return None

    def _complete(self, scope: Scope, count: int | None) -> None:
        with self._lock:
            self.coverage.add(ScopeReport(scope, Status.COMPLETE, count=self._known_count(scope, count)))

    def _known_count(self, scope: Scope, count: int | None) -> int | None:
        known = self.coverage.get(scope)
        return known.count if count is None and known is not None else count
