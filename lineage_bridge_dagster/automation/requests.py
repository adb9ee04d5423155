"""What a tick of the sensor requests, and what it reports."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from logging import Logger

from dagster import AssetCheckResult, AssetKey

from lineage_bridge_dagster.automation.cursor import Cursor
from lineage_bridge_dagster.text import sentence

#: Tables per run: a run plans all of its tables at once, with one chain computation and one commit.
MAX_TABLES_A_RUN = 500


@dataclass(frozen=True)
class PushRequest:
    """A run that computes and pushes the lineage of some tables.

    Attributes:
        repair: whether it restores lineage that was lost.
    """

    run_key: str
    keys: tuple[AssetKey, ...]
    tables: int
    repair: bool = False


@dataclass(frozen=True)
class RefreshRequest:
    """A refresh, and the reason for it."""

    run_key: str
    reason: str


@dataclass
class TickResult:
    """What a tick requests, and what it reports in the UI."""

    cursor: Cursor
    pushes: list[PushRequest] = field(default_factory=list)
    refresh: RefreshRequest | None = None
    #: What it waits for or could not do, as clauses that form one sentence.
    notes: list[str] = field(default_factory=list)
    #: What it found up to date, as clauses too.
    up_to_date: list[str] = field(default_factory=list)
    #: How many tables Glue has and lacks; empty if it lacks none.
    glue_tables: str = ""
    #: Results of checks to record without a run: of tables that Glue lacks, and of those that lost lineage.
    checks: list[AssetCheckResult] = field(default_factory=list)

    def note(self, log: Logger, text: str) -> None:
        self.notes.append(text)
        log.info(sentence(text))

    @property
    def skip_reason(self) -> str:
        """One sentence on why nothing is requested."""
        if self.notes:
            text = sentence("; ".join(self.notes))
        else:
            text = sentence(": ".join(filter(None, ["nothing new", ", and ".join(self.up_to_date)])))
        return " ".join(filter(None, [text, self.glue_tables]))


def short_digest(text: str) -> str:
    """Twelve hexadecimal digits that stand for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
