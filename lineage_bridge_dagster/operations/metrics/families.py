"""The metrics: their names, types, help and labels, by the conventions of Prometheus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """A metric.

    Attributes:
        name: without the suffix `_total` of a counter, and `_count` and `_sum` of a summary.
        labels: whose values are few: none is a table, and only the topics that are loaded have a label. None
            is `job` or `instance`, which Prometheus sets itself.
    """

    name: str
    type: Literal["counter", "gauge", "summary"]
    help: str
    labels: tuple[str, ...] = ()

    @property
    def series(self) -> tuple[str, ...]:
        """The names of its time series."""
        if self.type == "counter":
            return (f"{self.name}_total",)
        return (f"{self.name}_count", f"{self.name}_sum") if self.type == "summary" else (self.name,)


_PREFIX = "lineage_bridge_"


def _family(
    kind: Literal["counter", "gauge", "summary"], name: str, help_text: str, *labels: str
) -> MetricFamily:
    return MetricFamily(_PREFIX + name, kind, help_text, labels)


COUNTED_SINCE = _family(
    "gauge",
    "counted_since_timestamp_seconds",
    "When the counters of runs began: the first scrape of this Dagster instance, or of a new storage.",
)

# Discoveries.
DISCOVERIES = _family(
    "counter", "discoveries", "Discoveries by result: complete, incomplete or failed.", "component", "result"
)
DISCOVERY_DURATION = _family(
    "summary", "discovery_duration_seconds", "How long discoveries took.", "component"
)
DISCOVERY_LAST = _family(
    "gauge", "discovery_last_timestamp_seconds", "When the last discovery with this result ended.",
    "component", "result",
)  # fmt: skip
SCOPES = _family(
    "gauge", "scopes", "Scopes of the last discovery by status: complete, partial, denied or failed.",
    "component", "status",
)  # fmt: skip
GLUE_TABLES = _family(
    "gauge", "glue_tables", "Tables that Tableflow syncs to Glue: found in Glue, missing or unknown.",
    "component", "status",
)  # fmt: skip
CARRIED_SINCE = _family(
    "gauge", "carried_since_timestamp_seconds",
    "When the oldest lineage carried over for this unreadable API was last seen.",
    "component", "api",
)  # fmt: skip

# Requests, each attempt on its own.
REQUESTS = _family(
    "counter", "requests",
    "Requests by status of HTTP, 'timeout' or 'unreachable'. Glue's throttling counts as 429.",
    "component", "process", "api", "status",
)  # fmt: skip
RETRIES = _family(
    "counter", "request_retries", "Requests that repeated another one.", "component", "process", "api"
)

# Pushes.
PUSHED_TABLES = _family(
    "counter", "pushed_tables",
    "Tables by outcome of their push: updated, unchanged, held, skipped, refused, failed or unknown.",
    "component", "outcome",
)  # fmt: skip
PUSH_DURATION = _family("summary", "push_duration_seconds", "How long pushes took.", "component")
FULL_PUSH_LAST = _family(
    "gauge", "full_push_last_timestamp_seconds", "When the last push to every table ended.", "component"
)
FULL_PUSH_TABLES = _family(
    "gauge", "full_push_tables", "Tables by outcome of the last push to every table.", "component", "outcome"
)

# What the sensor knows of the tables.
TABLES = _family("gauge", "tables", "Tables of the loaded discovery.", "component", "location")
IN_SYNC = _family(
    "gauge", "in_sync_tables", "Tables that have their current lineage.", "component", "location"
)
OUTDATED = _family(
    "gauge", "outdated_tables", "Tables whose last push is not their current lineage.",
    "component", "location",
)  # fmt: skip
OUTDATED_SINCE = _family(
    "gauge", "outdated_since_timestamp_seconds", "Since when the oldest of them is outdated.",
    "component", "location",
)  # fmt: skip
LOST = _family(
    "gauge", "lost_tables", "Tables that lost the lineage that was pushed (drift), and lack it still.",
    "component", "location",
)  # fmt: skip
LOST_SINCE = _family(
    "gauge", "lost_since_timestamp_seconds", "When the first of them lost it.", "component", "location"
)
LOSSES = _family(
    "counter", "losses", "Times that a sweep found a table without its lineage (drift).",
    "component", "location",
)  # fmt: skip

# Topics that are loaded into tables.
TOPICS = _family(
    "gauge", "topics", "Loaded topics by outcome of their last load: loaded, failed or suspended.",
    "component", "outcome",
)  # fmt: skip
TOPIC_LAG_RECORDS = _family(
    "gauge", "topic_lag_records", "Records that the topic has and its table had not, when it was loaded.",
    "component", "topic",
)  # fmt: skip
TOPIC_LAG_SECONDS = _family(
    "gauge", "topic_lag_seconds", "Age of the oldest of these records.", "component", "topic"
)
TOPIC_MEASURED = _family(
    "gauge", "topic_measured_timestamp_seconds", "When the lag of the topic was measured.",
    "component", "topic",
)  # fmt: skip
TOPICS_LEFT_OUT = _family(
    "gauge", "topics_left_out", "Topics without a series of their own; those with the greatest lag have one.",
    "component",
)  # fmt: skip
TOPIC_ROWS = _family("counter", "topic_rows", "Rows that loads of topics wrote.", "component")
DEAD_LETTERS = _family("counter", "dead_letters", "Records that went to the dead-letter topic.", "component")
SKIPPED_RECORDS = _family("counter", "skipped_records", "Records that left no row.", "component")

# Checks.
CHECKS = _family(
    "gauge", "checks",
    "Last results of asset checks, of those that were evaluated within 26 hours: passed, warning or failed.",
    "check", "status",
)  # fmt: skip

# Dagster.
RUN_DURATION = _family(
    "summary", "run_duration_seconds", "How long runs of this project's jobs took, by status.",
    "job_name", "status",
)  # fmt: skip
RUN_LAST = _family(
    "gauge", "run_last_timestamp_seconds", "When the last run with this status ended.", "job_name", "status"
)
UNFINISHED_RUNS = _family("gauge", "unfinished_runs", "Queued and running runs.", "job_name", "status")
UNFINISHED_SINCE = _family(
    "gauge", "unfinished_run_created_timestamp_seconds", "When the oldest of them was created.",
    "job_name", "status",
)  # fmt: skip
AUTOMATION_RUNNING = _family(
    "gauge", "automation_running", "Whether a sensor or a schedule is on.", "name", "location"
)
SENSOR_TICK = _family(
    "gauge", "sensor_tick_timestamp_seconds",
    "When the last tick of the sensor ended that did not fail; before the first one, when counters began.",
    "component", "location",
)  # fmt: skip
DAEMON_HEARTBEAT = _family(
    "gauge", "daemon_heartbeat_timestamp_seconds", "Last heartbeat of each of Dagster's daemons.", "daemon"
)

#: All metrics, in the order of the page.
FAMILIES: tuple[MetricFamily, ...] = tuple(
    value for value in globals().values() if isinstance(value, MetricFamily)
)
