"""Failures of Spark's JVM in words that say what to do."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.failures import readable

#: How py4j begins the text of every error.
CALLED = "An error occurred while calling o77.sql.\n: "
JOB = (
    f"{CALLED}org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 "
    "failed 1 times, most recent failure: Lost task 0.0 in stage 1.0 (TID 1) (localhost executor driver): "
)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            f"{JOB}java.io.IOException: No space left on device\n"
            "\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)\n"
            "\tat org.apache.iceberg.aws.s3.S3OutputStream.write(S3OutputStream.java:170)",
            "The disk where files wait for their upload to S3 is full: No space left on device.",
            "name a larger disk in s3.staging-dir of the catalog",
        ),
        (
            f"{JOB}java.io.FileNotFoundException: /mnt/spark/0c/temp_shuffle_1 (No space left on device)\n"
            "\tat java.base/java.io.FileOutputStream.open0(Native Method)\n"
            "\tat org.apache.spark.storage.DiskBlockObjectWriter.initialize(DiskBlockObjectWriter.scala:140)",
            "The disk of shuffles and spilled rows is full: /mnt/spark/0c/temp_shuffle_1: No space left on "
            "device.",
            "name a larger disk in spark.local.dir",
        ),
        (
            f"{JOB}java.io.IOException: Disk quota exceeded\n"
            "\tat org.apache.hadoop.fs.RawLocalFileSystem.write(RawLocalFileSystem.java:9)",
            "The disk of the table's files is full: Disk quota exceeded.",
            "Free some space there.",
        ),
        (
            f"{JOB}java.lang.OutOfMemoryError: Java heap space",
            "Spark ran out of memory.",
            "spark.driver.memory",
        ),
        (
            f"{CALLED}software.amazon.awssdk.services.s3.model.S3Exception: Please reduce your request rate. "
            "(Service: S3, Status Code: 503, Request ID: a) (SDK Attempt Count: 5)",
            "S3 answered 503: Please reduce your request rate. (S3Exception).",
            "lower run.threads",
        ),
        (
            f"{CALLED}software.amazon.awssdk.core.exception.SdkClientException: Unable to load credentials "
            "from any of the providers in the chain",
            "Spark has no AWS credentials: Unable to load credentials from any of the providers in the "
            "chain.",
            "AWS_ACCESS_KEY_ID",
        ),
        (
            f"{JOB}org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired before the "
            "position for partition orders-0 could be determined",
            "The brokers did not send the records to Spark: Timeout of 60000ms expired before the position "
            "for partition orders-0 could be determined (TimeoutException).",
            "Check that the brokers run",
        ),
        (
            f"{CALLED}java.lang.IllegalStateException: Something else\n\tat a.b(C.java:1)",
            "IllegalStateException: Something else",
            "",
        ),
    ],
)
def test_failure_says_what_failed_and_what_to_do(text: str, message: str, hint: str) -> None:
    told = readable(RuntimeError(text))
    assert told.message == message
    assert hint in told.hint
    assert bool(told.hint) == bool(hint)


def test_error_of_our_own_is_kept() -> None:
    error = ConfigurationError("Something is wrong.", hint="Correct it.")
    assert readable(error) is error


def test_error_without_a_text_has_the_name_of_its_class() -> None:
    assert readable(TimeoutError()).message == "TimeoutError"
