"""What a run tells of each of its topics: counts, the table, and why a topic is not loaded."""

from __future__ import annotations

from dataclasses import dataclass, field

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.failures import readable
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import Rejections
from lineage_bridge_dagster.topic_to_iceberg.loader import LoadStatus
from lineage_bridge_dagster.topic_to_iceberg.loading.model import LoadStep, SuspendedError
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad


@dataclass(frozen=True, slots=True)
class Totals:
    """What the commits of one topic have done since the last report."""

    rows: int = 0
    removed: int = 0
    skipped: int = 0
    dead_letters: int = 0
    commits: int = 0
    unavailable: int = 0
    rejections: Rejections = field(default_factory=Rejections)

    def plus(self, step: LoadStep) -> Totals:
        return Totals(
            self.rows + step.rows,
            self.removed + step.removed,
            self.skipped + step.skipped,
            self.dead_letters + step.dead_letters,
            self.commits + step.committed,
            self.unavailable + step.unavailable,
            self.rejections.plus(step.rejections),
        )

    @property
    def rejected(self) -> int:
        return self.skipped + self.dead_letters


@dataclass(frozen=True, slots=True)
class LoadError:
    """Why a topic is not loaded: if `suspended`, until somebody changes something; else only for now."""

    message: str
    hint: str = ""
    suspended: bool = False

    @property
    def outcome(self) -> str:
        return "suspended" if self.suspended else "failed"

    @classmethod
    def of(cls, error: Exception) -> LoadError:
        from pyspark.errors import AnalysisException

        suspended = isinstance(error, SuspendedError | ConfigurationError | AnalysisException)
        told = readable(error)
        return cls(told.message, told.hint, suspended)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What happened to one topic since its last report.

    Attributes:
        status: of the table now; None if it could not be read.
        columns_before: those that the table had when the run began with it.
        seconds: since the last report, or since the run began with the topic.
        final: whether the run is done with the topic.
    """

    load: TopicLoad
    totals: Totals
    error: LoadError | None
    status: LoadStatus | None
    columns_before: tuple[tuple[str, str], ...] | None
    seconds: float
    final: bool
