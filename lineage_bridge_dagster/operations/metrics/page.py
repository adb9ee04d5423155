"""A page of metrics from a reading. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from lineage_bridge_dagster.operations.metrics import families as f
from lineage_bridge_dagster.operations.metrics.families import FAMILIES, MetricFamily
from lineage_bridge_dagster.operations.metrics.reading import REMOVED_AFTER, InstanceReading, Sensor
from lineage_bridge_dagster.operations.metrics.totals import ComponentTotals

#: The `component` of an instance without a name.
DEFAULT = "default"
#: Topics of a component with a series of their own.
MAX_TOPICS = 500

#: A value, or the count and the sum of a summary, by the values of the labels.
_Value = float | tuple[int, float]
_Samples = dict[MetricFamily, dict[tuple[str, ...], _Value]]


def page(reading: InstanceReading, max_topics: int = MAX_TOPICS) -> Iterator[Metric]:
    """Yield every metric that has a sample. What was never measured has none: it is not zero.

    Only so many topics of a component have a series of their own.
    """
    samples: _Samples = {family: {} for family in FAMILIES}
    samples[f.COUNTED_SINCE][()] = reading.totals.began
    _runs(samples, reading)
    for name, totals in sorted(reading.totals.components.items()):
        component, removed = name or DEFAULT, reading.now - REMOVED_AFTER
        # A component that pushes lineage and one that loads topics may have the same name.
        if totals.last >= removed:
            _lineage(samples, component, totals)
        if totals.last_load >= removed:
            _loads(samples, component, totals, max_topics)
        if totals.last_report >= removed:
            _requests(samples, component, "run", totals.requests, totals.retries)
    for sensor in reading.sensors:
        _sensor(samples, sensor, reading.totals.began)
    for each in reading.automations:
        samples[f.AUTOMATION_RUNNING][each.name, each.location] = float(each.running)
    for key, number in reading.checks.items():
        samples[f.CHECKS][key] = number
    for daemon, at in reading.heartbeats.items():
        samples[f.DAEMON_HEARTBEAT][(daemon,)] = at
    for family in FAMILIES:
        if samples[family]:
            yield _metric(family, samples[family])


def _metric(family: MetricFamily, values: Mapping[tuple[str, ...], _Value]) -> Metric:
    if family.type == "summary":
        summary = SummaryMetricFamily(family.name, family.help, labels=family.labels)
        for labels, value in sorted(values.items()):
            number, total = value if isinstance(value, tuple) else (0, 0.0)
            summary.add_metric(labels, number, total)
        return summary
    make = CounterMetricFamily if family.type == "counter" else GaugeMetricFamily
    metric = make(family.name, family.help, labels=family.labels)
    for labels, value in sorted(values.items()):
        metric.add_metric(labels, value[0] if isinstance(value, tuple) else value)
    return metric


def _runs(samples: _Samples, reading: InstanceReading) -> None:
    for job, by_status in reading.totals.runs.items():
        if reading.now - max(run.last for run in by_status.values()) > REMOVED_AFTER:
            continue
        for status, run in by_status.items():
            samples[f.RUN_DURATION][job, status] = (run.count, run.seconds)
            samples[f.RUN_LAST][job, status] = run.last
    for unfinished in reading.unfinished:
        key = (unfinished.job, unfinished.status)
        samples[f.UNFINISHED_RUNS][key] = _number(samples[f.UNFINISHED_RUNS].get(key)) + 1
        oldest = _number(samples[f.UNFINISHED_SINCE].get(key)) or unfinished.created
        samples[f.UNFINISHED_SINCE][key] = min(oldest, unfinished.created)


def _lineage(samples: _Samples, name: str, totals: ComponentTotals) -> None:
    if totals.discoveries:
        number = sum(totals.discoveries.values())
        samples[f.DISCOVERY_DURATION][(name,)] = (number, totals.discovery_seconds)
    if totals.pushes:
        samples[f.PUSH_DURATION][(name,)] = (totals.pushes, totals.push_seconds)
    if totals.full_push_at:
        samples[f.FULL_PUSH_LAST][(name,)] = totals.full_push_at
    by_label: Sequence[tuple[MetricFamily, Mapping[str, float]]] = (
        (f.DISCOVERIES, totals.discoveries),
        (f.DISCOVERY_LAST, totals.discovery_last),
        (f.SCOPES, totals.scopes),
        (f.GLUE_TABLES, totals.glue_tables),
        (f.CARRIED_SINCE, totals.carried_since),
        (f.PUSHED_TABLES, totals.pushed),
        (f.FULL_PUSH_TABLES, totals.full_push),
    )
    for family, values in by_label:
        for label, value in values.items():
            samples[family][name, label] = value


def _loads(samples: _Samples, component: str, totals: ComponentTotals, max_topics: int) -> None:
    topics = totals.topics
    samples[f.TOPIC_ROWS][(component,)] = totals.rows
    samples[f.DEAD_LETTERS][(component,)] = totals.dead_letters
    samples[f.SKIPPED_RECORDS][(component,)] = totals.skipped
    for outcome in ("loaded", "failed", "suspended"):
        number = sum(topic.outcome == outcome for topic in topics.values())
        samples[f.TOPICS][component, outcome] = number
    # Those that wait longest first, then those of which nobody knows.
    worst = sorted(
        topics.items(), key=lambda each: (-(each[1].lag_seconds or 0.0), -(each[1].lag_records or 0), each[0])
    )
    samples[f.TOPICS_LEFT_OUT][(component,)] = max(0, len(worst) - max_topics)
    for name, topic in worst[:max_topics]:
        samples[f.TOPIC_MEASURED][component, name] = topic.at
        if topic.lag_records is not None:
            samples[f.TOPIC_LAG_RECORDS][component, name] = topic.lag_records
        if topic.lag_seconds is not None:
            samples[f.TOPIC_LAG_SECONDS][component, name] = topic.lag_seconds


def _requests(
    samples: _Samples,
    component: str,
    process: str,
    requests: Mapping[str, Mapping[str, int]],
    retries: Mapping[str, int],
) -> None:
    for api, by_status in requests.items():
        # A first refused key must be an increase, which is not seen of a series that begins with it.
        for status, number in {"401": 0, **by_status}.items():
            key = (component, process, api, status)
            # Two code locations may have sensors of the same name.
            samples[f.REQUESTS][key] = _number(samples[f.REQUESTS].get(key)) + number
    for api, number in retries.items():
        retry = (component, process, api)
        samples[f.RETRIES][retry] = _number(samples[f.RETRIES].get(retry)) + number


def _sensor(samples: _Samples, sensor: Sensor, began: float) -> None:
    cursor, name = sensor.cursor, sensor.component or DEFAULT
    place = (name, sensor.location)
    # Without a good tick there still is an age, or no alert could tell that each tick fails.
    samples[f.SENSOR_TICK][place] = (cursor and cursor.totals.at) or began
    if cursor is None:
        return
    outdated = list(cursor.attempts.values())
    lost = [loss for loss in cursor.losses.values() if not loss.in_sync]
    samples[f.TABLES][place] = cursor.tables
    samples[f.OUTDATED][place] = len(outdated)
    samples[f.LOST][place] = len(lost)
    samples[f.LOSSES][place] = cursor.totals.losses
    if cursor.compared >= cursor.tables:
        # Otherwise some have not been compared with their last push yet.
        samples[f.IN_SYNC][place] = max(0, cursor.tables - len(outdated) - len(lost))
    for family, times in (
        (f.OUTDATED_SINCE, (each.since for each in outdated)),
        (f.LOST_SINCE, (each.found for each in lost)),
    ):
        if since := _oldest(times):
            samples[family][place] = since
    _requests(samples, name, "sensor", cursor.totals.requests, cursor.totals.retries)


def _oldest(times: Iterable[float]) -> float:
    return min(filter(None, times), default=0.0)


def _number(value: _Value | None) -> float:
    return 0.0 if value is None or isinstance(value, tuple) else value
