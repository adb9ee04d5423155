"""Glue and S3 that fail, at each step of a commit: what is said, and that nothing is lost or doubled."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.topic_to_iceberg.loading import staging
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadError
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import Loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

ALWAYS = None


@pytest.fixture(scope="module")
def loaded(spark: SparkSession) -> Loaded:
    """One table for all outages here: each leaves it as the topic says."""
    loaded = Loaded(spark, f"lkc-{uuid.uuid4().hex[:8]}")
    loaded.writer().advance()
    return loaded


@pytest.fixture(autouse=True)
def _healed(spark_aws: StrictAws) -> Iterator[None]:
    yield
    spark_aws.clear_faults()


@dataclass(frozen=True)
class Outage:
    """A failure of one operation, and what the topic's error says of it."""

    operation: str
    code: str = ""
    says: str = ""
    hint: str = ""
    after: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    def begin(self, aws: StrictAws) -> None:
        aws.clear_faults()
        for _ in range(self.after):
            # A fault that does nothing, for the calls before.
            aws.fail(self.operation, matching=self.options.get("matching", ""))
        aws.fail(self.operation, self.code, **{"times": ALWAYS, **self.options})


OUTAGES = {
    "the table cannot be read": Outage(
        "GetTable",
        "InternalServiceException",
        "Glue answered 500: Injected fault (InternalServiceException).",
        "Glue failed by itself: try again later",
        options={"status": 500},
    ),
    "requests are throttled": Outage(
        "GetTable",
        "ThrottlingException",
        "Glue answered 400: Injected fault (ThrottlingException).",
        "lower run.threads",
    ),
    "the network is down": Outage(
        "GetTable",
        "",
        "AWS did not answer Spark: ",
        "Check the network to Glue and S3",
        options={"drop": True},
    ),
    "the right to read is gone": Outage(
        "GetTable", "AccessDeniedException", "Glue answered 400: ", "glue:GetTable, glue:CreateTable"
    ),
    "rows cannot be written": Outage(
        "PutObject",
        "AccessDenied",
        "S3 answered 403: ",
        "s3:PutObject",
        options={"status": 403, "matching": "/data/"},
    ),
    "manifests cannot be written": Outage(
        "PutObject",
        "AccessDenied",
        "S3 answered 403: ",
        "s3:PutObject",
        options={"status": 403, "matching": "/metadata/"},
    ),
    "the batch cannot be staged": Outage(
        "UpdateTable",
        "InternalServiceException",
        "Whether the commit was made is unknown.",
        "The next attempt looks it up, so that nothing is lost or doubled. Glue failed by itself",
        options={"status": 500},
    ),
    "the batch cannot be published": Outage(
        "UpdateTable",
        "InternalServiceException",
        "The branches of glue.",
        "A batch that is staged stays so, and the next run publishes it.",
        after=1,
        options={"status": 500},
    ),
}


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
def test_outage_fails_the_topic_for_now_and_the_next_step_goes_on(
    outage: Outage, loaded: Loaded, spark_aws: StrictAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "_ATTEMPTS", 2)
    writer, before = loaded.writer(), loaded.added
    loaded.add(2)
    outage.begin(spark_aws)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - what a run makes of it is what counts
        writer.advance()
    spark_aws.clear_faults()
    error = LoadError.of(raised.value)
    assert outage.says in error.message
    assert outage.hint in error.hint
    assert not error.suspended
    assert loaded.spark.table(loaded.config.name.sql).count() == before
    writer.advance()
    loaded.check()


@pytest.mark.parametrize("after", [0, 1], ids=["staged", "published"])
def test_commit_whose_answer_is_lost_is_not_made_again(
    after: int, loaded: Loaded, spark_aws: StrictAws
) -> None:
    writer = loaded.writer()
    loaded.add(2)
    outage = Outage("UpdateTable", after=after, options={"drop": True, "apply_first": True, "times": 1})
    outage.begin(spark_aws)
    assert writer.advance().caught_up
    assert spark_aws.pending_faults == 0
    loaded.check()


@pytest.mark.parametrize(
    ("operation", "code", "status"),
    [
        ("PutObject", "SlowDown", 503),
        ("GetObject", "InternalError", 500),
        ("GetTable", "ThrottlingException", 400),
    ],
)
def test_short_outage_is_waited_for(
    operation: str, code: str, status: int, loaded: Loaded, spark_aws: StrictAws
) -> None:
    writer = loaded.writer()
    loaded.add(2)
    spark_aws.fail(operation, code, status=status)
    assert writer.advance().caught_up
    assert spark_aws.pending_faults == 0
    loaded.check()


def test_table_that_cannot_be_asked_for_is_not_created_again(loaded: Loaded, spark_aws: StrictAws) -> None:
    """`Could not ask` is not `there is none`."""
    spark_aws.clear_faults()
    spark_aws.fail("GetTable", "InternalServiceException", status=500, times=ALWAYS)
    with pytest.raises(Exception) as raised:  # noqa: PT011
        loaded.writer()
    assert "Glue answered 500" in LoadError.of(raised.value).message
    assert spark_aws.calls["CreateTable"] == 0
