"""The class path by which Spark's JVM starts with an archive of its classes."""

from __future__ import annotations

import atexit
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_bridge_dagster.jars import class_archive
from lineage_bridge_dagster.spark.class_path import keep_archive_at_exit, of_driver


@pytest.mark.parametrize(
    "own",
    [
        {"spark.driver.extraClassPath": "/opt/own.jar", "spark.driver.extraJavaOptions": "-Da=b"},
        {"spark.driver.extraJavaOptions": "-XX:SharedArchiveFile=/opt/own.jsa"},
        {"spark.driver.extraJavaOptions": "-Xshare:off"},
    ],
)
def test_a_class_path_or_an_archive_of_the_users_stays(own: dict[str, str]) -> None:
    assert of_driver(own) == own


def test_an_archive_is_used_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def options(name: str, files: object, java_options: object, *, record: bool) -> list[str]:
        asked.append((name, java_options, record))
        return found

    monkeypatch.setattr(class_archive, "options", options)
    conf = {"spark.driver.extraJavaOptions": '-XX:+UseG1GC -Xint "-Da.b=c d"'}
    found: list[str] = []
    assert of_driver(conf) == conf
    found = ["-XX:SharedArchiveFile=/cache/spark.jsa"]
    used = of_driver(conf)["spark.driver.extraJavaOptions"]
    assert used == '-XX:+UseG1GC -Xint "-Da.b=c d" "-XX:SharedArchiveFile=/cache/spark.jsa"'
    # Values of properties, such as a region, and collectors need no archive of their own.
    assert asked == [("driver", ["-Xint"], False)] * 2


def test_a_process_waits_for_the_archive_that_its_jvm_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import SparkContext

    monkeypatch.setenv(class_archive.SETTING, "record")
    monkeypatch.setenv("LINEAGE_BRIDGE_CACHE", str(tmp_path))
    assert class_archive.is_asked_for()
    (option, _) = class_archive.options("spark", [], record=True)
    part = Path(option.removeprefix(class_archive.RECORDS))
    # It writes when its input ends, as Spark's JVM does.
    jvm = subprocess.Popen(["sh", "-c", f"cat; sleep 0.1; printf archive > '{part}'"], stdin=subprocess.PIPE)
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
    at_exit: list[Any] = []
    monkeypatch.setattr(atexit, "register", at_exit.append)
    keep_archive_at_exit()
    assert jvm.poll() is None
    at_exit[0]()
    assert [path.suffix for path in part.parent.iterdir()] == [".jsa"]
