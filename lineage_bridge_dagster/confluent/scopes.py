"""Asking a scope: its answer, or what of it there is, with a report of how it went."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from lineage_bridge_dagster.confluent.api.errors import ConfluentError, Forbidden, NotFound, PartialResponse
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.redaction import redact_text

log = logging.getLogger(__name__)

Progress = Callable[[str], None]
T = TypeVar("T")


class Asker:
    """Carries out calls for a discovery, from several threads at once.

    Attributes:
        coverage: a report for every scope that was asked.
    """

    def __init__(self, progress: Progress) -> None:
        self.coverage = Coverage()
        self._progress = progress
        self._lock = threading.Lock()
        self._errors: dict[Scope, ConfluentError] = {}

    def say(self, line: str) -> None:
        """One readable line of progress."""
        with self._lock:
            self._progress(line)

    def ask(self, scope: Scope, what: str, call: Callable[[], Sequence[T]]) -> list[T]:
        """What the call lists; on a failure what could be read of it, and the scope is no longer complete."""
        try:
            found = list(call())
        except PartialResponse as partial:
            self.report(scope, what, partial, len(partial.items))
            return list(partial.items)
        except ConfluentError as error:
            self.report(scope, what, error)
            return []
        with self._lock:
            self.coverage.add(ScopeReport(scope, Status.COMPLETE, count=len(found)))
            self._progress(f"{what}: {len(found)}")
        return found

    def ask_optional(
        self,
        scope: Scope,
        what: str,
        call: Callable[[], Sequence[T]],
        *,
        beside: bool = False,
        denial_tells: bool = False,
    ) -> list[T] | None:
        """As `ask`, for what not every cluster offers.

        A 404 or 405 means that there is none: complete. A 403 is no such word: what was known of it before
        must not count as gone, so it is reported like any other failure.

        Args:
            beside: the scope has another, main call; then a failure leaves it partial.
            denial_tells: a 403 loses no node and no edge (a topic's settings), and is passed over.

        Returns:
            None when it was not answered.
        """
        try:
            found = list(call())
        except PartialResponse as partial:
            self.report(scope, what, partial, len(partial.items))
            return list(partial.items)
        except NotFound as error:
            log.debug("%s: not offered: %s", what, error.message)
            self._complete(scope, None if beside else 0)
            return []
        except Forbidden as error:
            if not denial_tells:
                self.report(scope, what, error, partial=beside)
                return None
            log.info("%s: not shown: %s", what, error.reason)
            self.say(f"{what}: not shown to this key")
            self._complete(scope, None)
            return None
        except ConfluentError as error:
            self.report(scope, what, error, partial=beside)
            return None
        self._complete(scope, None if beside else len(found))
        self.say(f"{what}: {len(found)}")
        return found

    def report(
        self,
        scope: Scope,
        what: str,
        error: ConfluentError,
        count: int | None = None,
        *,
        partial: bool = False,
    ) -> None:
        """Record that a scope was not answered whole."""
        with self._lock:
            self._errors[scope] = error
            known = self.coverage.get(scope)
            if count is None and known is not None:
                count = known.count
            report = self.report_of(scope, error, count, partial=partial)
            self.coverage.add(report)
            self._progress(f"{what}: {report.status}: {report.reason}")

    @staticmethod
    def report_of(
        scope: Scope, error: ConfluentError, count: int | None = None, *, partial: bool = False
    ) -> ScopeReport:
        """How an error counts: partial, denied or failed."""
        if partial or isinstance(error, PartialResponse):
            status = Status.PARTIAL
        else:
            status = Status.DENIED if error.denied else Status.FAILED
        return ScopeReport(scope, status, redact_text(error.reason), count)

    def error_of(self, scope: Scope) -> ConfluentError | None:
        """Why a scope was not answered whole; None where it was, or was not asked."""
        return self._errors.get(scope)

    def is_complete(self, scope: Scope) -> bool:
        """Whether the scope was asked and answered whole."""
        report = self.coverage.get(scope)
        return report is not None and report.status is Status.COMPLETE

    def _complete(self, scope: Scope, count: int | None) -> None:
        with self._lock:
            known = self.coverage.get(scope)
            if count is None and known is not None:
                count = known.count
            self.coverage.add(ScopeReport(scope, Status.COMPLETE, count=count))
