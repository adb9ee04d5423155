"""The benchmark of topics as Iceberg tables, at a tiny size and without the sink that it compares with."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fastavro
import pytest

from lineage_bridge_dagster_tests.dagster_ui import eventually
from lineage_bridge_dagster_tests.spark_session import SMALL_SPARK

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    import orders  # type: ignore[import-not-found]

    return orders


def decoded(schema: str, payload: bytes, schema_id: int) -> Any:
    assert payload[:5] == b"\0" + schema_id.to_bytes(4, "big")
    body = io.BytesIO(payload[5:])
    value = fastavro.schemaless_reader(body, json.loads(schema), None)
    assert not body.read()
    return value


def test_records_have_their_schema_their_size_and_their_key(orders: Any) -> None:
    found = list(orders.Orders(300, record_bytes=500, distinct_keys=20).messages())
    keys = set()
    for number, key, payload in found:
        value = decoded(orders.VALUE_SCHEMA, payload, orders.VALUE_ID)
        keys.add(decoded(orders.KEY_SCHEMA, key, orders.KEY_ID)["id"])
        assert len(payload) == 500
        assert (value["quantity"], value["paid"]) == (number % 50, number % 3 != 0)
        assert decoded(orders.KEY_SCHEMA, key, orders.KEY_ID)["id"] == value["id"]
    assert keys == set(range(20))


def test_skewed_records_have_one_key_in_common(orders: Any) -> None:
    found = orders.Orders(1_000, distinct_keys=1_000_000, skew=0.5).messages()
    hot = sum(decoded(orders.KEY_SCHEMA, key, orders.KEY_ID)["id"] == 0 for _, key, _ in found)
    assert 400 < hot < 600


def test_work_is_told_from_the_wait_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from process_tree import ProcessTree  # type: ignore[import-not-found]

    tree = ProcessTree(os.getpid())
    # Ten seconds of work after a start of five CPU seconds, then a minute of waiting for 1% of a CPU.
    tree.samples = [(100.0 + at, 1, 5.0 + min(at, 10) + 0.01 * max(0, at - 10)) for at in range(-3, 71)]
    assert tree.busy_until(100.0, 0.9) == 110.0
    assert tree.busy_until(200.0, 0.9) == 200.0
    assert tree.cpu_between(102.2, 108.9) == 7.0


@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_process_that_stands_in_for_a_service_is_not_counted(
    is_ignored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from process_tree import ProcessTree

    use = "held = bytearray(b'x') * 100_000_000; print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", use], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        tree = ProcessTree(process.pid)
        if is_ignored:
            tree.ignore(process.pid)
        with tree:
            eventually(lambda: tree.samples, 60, "a sample", 0.1)
        process.communicate(b"\n")
    assert (tree.peak_bytes >= 100_000_000) is not is_ignored


@pytest.mark.spark
@pytest.mark.xdist_group("benchmark")
def test_benchmark_upserts_every_record(orders: Any, tmp_path: Path) -> None:
    command = ["topic_to_iceberg.py", "--records", "400", "--distinct-keys", "50", "--memory", "512m"]
    options = ["--topics", "2", "--partitions", "2", "--folder", str(tmp_path), "--only", "upsert"]
    conf = ["--conf", *(f"{name}={value}" for name, value in SMALL_SPARK.items())]
    done = subprocess.run(
        [sys.executable, *command, *options, *conf], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    keys = {(number % 2, key) for number, key, _ in orders.Orders(400, distinct_keys=50).messages()}
    assert f"{len(keys)} rows" in lines["upsert"]
    assert not list(tmp_path.iterdir())
