"""What a check found: a status, what was tried, what came back, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.text import counted

if TYPE_CHECKING:
    from lineage_bridge_dagster.operations.doctor.context import Context

#: Seconds that a check may take, including waits for other checks.
TIME_LIMIT_SECONDS = 60.0


class CheckStatus(StrEnum):
    """Outcome of a check. What could not be verified is a warning; what does not apply is skipped."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Attributes:
        tried: the call, or what was compared.
        remedy: what to do; empty if there is nothing to do.
        check: the check's name, such as `glue.read`, once it is known.
    """

    status: CheckStatus
    tried: str
    result: str
    remedy: str = ""
    check: str = ""

    def of(self, check: str, hide: Callable[[str], str] = str) -> Finding:
        """The finding of a check, with secrets masked."""
        return Finding(self.status, hide(self.tried), hide(self.result), hide(self.remedy), check)

    def to_json(self) -> dict[str, str]:
        return {"check": self.check, **{name: str(value) for name, value in asdict(self).items()}}


def ok(tried: str, result: str, remedy: str = "") -> Finding:
    return Finding(CheckStatus.OK, tried, result, remedy)


def warning(tried: str, result: str, remedy: str = "") -> Finding:
    return Finding(CheckStatus.WARNING, tried, result, remedy)


def failed(tried: str, result: str, remedy: str = "") -> Finding:
    return Finding(CheckStatus.FAILED, tried, result, remedy)


def skipped(tried: str, result: str, remedy: str = "") -> Finding:
    return Finding(CheckStatus.SKIPPED, tried, result, remedy)


@dataclass(frozen=True, slots=True)
class Check:
    """A check: its name, which starts with its area and a dot, and the question that it answers.

    `run` yields what it finds. An exception that it raises becomes a finding.
    """

    name: str
    question: str
    run: Callable[[Context], Iterable[Finding]]
    time_limit: float = TIME_LIMIT_SECONDS

    @property
    def area(self) -> str:
        return self.name.partition(".")[0]


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """The number of findings by status, for every status."""
    found = Counter(str(finding.status) for finding in findings)
    return {str(status): found[status] for status in CheckStatus}


def report(findings: Sequence[Finding]) -> dict[str, Any]:
    """All findings as one JSON object."""
    totals = counts(findings)
    return {
        "ok": not totals[CheckStatus.FAILED] and not totals[CheckStatus.WARNING],
        "counts": totals,
        "findings": [finding.to_json() for finding in findings],
    }


def summary(findings: Iterable[Finding]) -> str:
    """Such as `1 failed, 20 ok, 2 skipped`."""
    return counted({status: count for status, count in counts(findings).items() if count})
