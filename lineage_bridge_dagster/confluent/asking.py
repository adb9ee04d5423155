"""Asking a scope: its answer, or what of it there is, with a report of how it went."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from lineage_bridge_dagster.confluent.errors import ConfluentError, Forbidden, NotFound, PartialAnswer
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.redact import redact_text

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
        self._withheld: dict[Scope, Forbidden] = {}
        self._errors: dict[Scope, ConfluentError] = {}

    def say(self, line: str) -> None:
        """One readable line of progress."""
        with self._lock:
            self._progress(line)

    def ask(self, scope: Scope, what: str, call: Callable[[], Sequence[T]]) -> list[T]:
        """What the call lists; on a failure what could be read of it, and the scope is no longer complete."""
        try:
            found = list(call())
        except PartialAnswer as partial:
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
        self, scope: Scope, what: str, call: Callable[[], Sequence[T]], *, denial_tells: bool = False
    ) -> list[T] | None:
        """As `ask`, for what not every cluster offers and not every key may see.

        A 404 or 405 means that there is none: complete. A 403 leaves the scope without a report (as complete
        with `denial_tells`, where the scope has another, main call): what is optional must not make every
        discovery incomplete. See `settle_withheld` for its exception. Returns None when it was not answered.
        """
        try:
            found = list(call())
        except PartialAnswer as partial:
            self.report(scope, what, partial, len(partial.items))
            return list(partial.items)
        except NotFound as error:
            log.debug("%s: not offered: %s", what, error.message)
            self._complete(scope, None if denial_tells else 0)
            return []
        except Forbidden as error:
            log.info("%s: not shown: %s", what, error.reason)
            self.say(f"{what}: not shown to this key")
            if denial_tells:
                self._complete(scope, None)
            else:
                with self._lock:
                    self._withheld[scope] = error
            return None
        except ConfluentError as error:
            self.report(scope, what, error, partial=denial_tells)
            return None
        self._complete(scope, None if denial_tells else len(found))
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
        if partial or isinstance(error, PartialAnswer):
            status = Status.PARTIAL
        else:
            status = Status.DENIED if error.denied else Status.FAILED
        return ScopeReport(scope, status, redact_text(error.reason), count)

    def settle_withheld(self) -> None:
        """Report what was withheld from the key where it may not see the cluster's topics either.

        Then it is the key that is wrong and not the extra that is not offered, and what was known of it
        before must not count as gone.
        """
        for scope, error in self._withheld.items():
            if not self.is_complete(Scope("kafka", scope.environment, scope.place)):
                self.coverage.add(self.report_of(scope, error))

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
