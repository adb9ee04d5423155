"""The checks of topics that are loaded into tables. Pure."""

from __future__ import annotations

from lineage_bridge_dagster.assets.check_outcomes import CheckOutcome
from lineage_bridge_dagster.assets.metadata import FreshnessMetadata
from lineage_bridge_dagster.text import duration, plural
from lineage_bridge_dagster.topic_to_iceberg.facts import LoadFacts, rejected_records
from lineage_bridge_dagster.topic_to_iceberg.metadata import LoadMetadata
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

REJECTED = "no_rejected_records"
CAUGHT_UP = "caught_up"
RUNNING = "not_suspended"

DESCRIPTIONS = {
    REJECTED: "Every record that was read since the last materialization became a row.",
    CAUGHT_UP: "The table is no further behind its topic than its limits allow.",
    RUNNING: "Nothing keeps the topic from its table: no record, no schema and no setting.",
}


def outcomes(load: TopicLoad, facts: LoadFacts | None) -> dict[str, CheckOutcome]:
    """The outcome of each check, by its name; `facts` is None for a topic that was never loaded."""
    if facts is None:
        never = CheckOutcome(False, "The topic was never loaded.", "Materialize this asset.")
        return dict.fromkeys(DESCRIPTIONS, never)
    return {
        REJECTED: no_rejected_records(load, facts),
        CAUGHT_UP: caught_up(load, facts),
        RUNNING: not_suspended(load, facts),
    }


def no_rejected_records(load: TopicLoad, facts: LoadFacts) -> CheckOutcome:
    """Judge whether records were left out."""
    metadata = {
        **LoadMetadata(
            records_skipped=facts.skipped,
            dead_letters=facts.dead_letters,
            rejected_records=rejected_records(facts.rejections),
        )
    }
    if not facts.skipped and not facts.dead_letters:
        return CheckOutcome(True, "No record was left out.", metadata=metadata)
    found, steps = [], []
    if facts.dead_letters:
        found.append(f"{plural(facts.dead_letters, 'record')} went to the topic {load.dead_letter_topic}")
        steps.append(
            f"Read the errors in {load.dead_letter_topic}, correct the schema or its producer, and send the "
            "records again with `lineage-bridge topics replay`."
        )
    if facts.skipped:
        found.append(f"{plural(facts.skipped, 'record')} of {load.topic} left no row")
        steps.append(
            "Set failures: log to keep such records with their errors, or suspend to stop at the first one."
        )
    last = f" The last one: {facts.rejections.examples[-1]}." if facts.rejections.examples else ""
    return CheckOutcome(False, f"{'; '.join(found)}.{last}", " ".join(steps), error=True, metadata=metadata)


def caught_up(load: TopicLoad, facts: LoadFacts) -> CheckOutcome:
    """Judge how far the table is behind its topic."""
    if facts.lag_records is None or facts.lag_seconds is None:
        return CheckOutcome(
            False,
            "The lag is unknown: the table or its topic could not be read.",
            f"See the check {RUNNING}.",
        )
    metadata = {
        **FreshnessMetadata(
            lag_records=facts.lag_records, lag_seconds=facts.lag_seconds, limits=_limits(load)
        )
    }
    age = duration(int(facts.lag_seconds * 1000))
    lag = (
        f"{plural(facts.lag_records, 'record')} of {load.topic} wait, the oldest one for {age}"
        if facts.lag_records
        else f"The table has every record of {load.topic}"
    )
    too_old = facts.lag_records > 0 and facts.lag_seconds > load.max_lag_seconds
    too_many = load.max_lag_records is not None and facts.lag_records > load.max_lag_records
    if not too_old and not too_many:
        return CheckOutcome(True, f"{lag}.", metadata=metadata)
    limit = f"over {load.max_lag_records:,} records" if too_many else f"over {_age(load)}"
    return CheckOutcome(
        False,
        f"{lag}, which is {limit}.",
        f"See the check {RUNNING}; if nothing stops the topic, run it more often, give Spark more cores or "
        "raise batch_records and batch_bytes.",
        error=True,
        metadata=metadata,
    )


def not_suspended(load: TopicLoad, facts: LoadFacts) -> CheckOutcome:
    """Judge whether the topic is loaded, by its last attempt."""
    if not facts.error:
        return CheckOutcome(True, f"{load.topic} is loaded into {load.dotted}.")
    if facts.suspended:
        return CheckOutcome(
            False,
            f"{load.topic} is suspended: {facts.error}",
            "Correct what the error names; the next run continues where this one stopped.",
            error=True,
            metadata={**LoadMetadata(suspended=facts.error)},
        )
    return CheckOutcome(
        False,
        f"{load.topic} could not be loaded: {facts.error}",
        "The next run tries again, and continues where this one stopped.",
        error=True,
        metadata={**LoadMetadata(load_error=facts.error)},
    )


def _age(load: TopicLoad) -> str:
    return duration(int(load.max_lag_seconds * 1000))


def _limits(load: TopicLoad) -> str:
    records = f", {load.max_lag_records:,} records" if load.max_lag_records is not None else ""
    return f"{_age(load)}{records}"
