"""The receiver acknowledges what is on the disk, and tells what is wrong with everything else."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lineage_bridge_dagster.event_sources import receiver
from lineage_bridge_dagster.event_sources.event_log import EventLog
from lineage_bridge_dagster.event_sources.receiver import EventReceiver
from lineage_bridge_dagster.event_sources.serving import current_token
from lineage_bridge_dagster_tests.openlineage.incoming.producers import dataset, event, facet

URL = "/api/v1/lineage"
TOKEN = "s3cret of thirty-two characters."
GOOD = event(inputs=["s3://lake a"], outputs=["s3://lake b"])


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with EventLog(tmp_path, max_age=timedelta(days=30)) as opened:
        yield opened


def client(log: EventLog, token: str = "", host: str = "127.0.0.1") -> TestClient:
    return TestClient(EventReceiver(log, lambda: token).app(), base_url=f"http://{host}:5000")


def written(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in folder.glob("events-*") for line in file.read_text().splitlines()]


def test_an_event_is_on_the_disk_when_it_is_acknowledged(log: EventLog, tmp_path: Path) -> None:
    http = client(log)
    assert http.post(URL, json=GOOD).status_code == 201
    packed = gzip.compress(json.dumps(GOOD).encode())
    assert http.post(URL, content=packed, headers={"content-encoding": "gzip"}).status_code == 201
    assert len(written(tmp_path)) == 2
    assert http.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("body", "headers", "status", "what"),
    [
        (b"{", {}, 400, "no JSON"),
        (b"3", {}, 400, "no JSON object"),
        (json.dumps({**GOOD, "job": {}}).encode(), {}, 400, "job.namespace is missing"),
        (b"x" * 2_001, {}, 413, "more than 2000 bytes"),
        (gzip.compress(b" " * 1_000_000, mtime=0), {"content-encoding": "gzip"}, 413, "more than 2000 bytes"),
        (b"nothing", {"content-encoding": "gzip"}, 400, "not valid gzip"),
        (gzip.compress(b"{}", mtime=0)[:-9], {"content-encoding": "gzip"}, 400, "ends before"),
        (b"{}", {"content-encoding": "br"}, 415, "not known"),
        (b"{}", {"origin": "https://evil.example"}, 403, "only programs"),
    ],
)
def test_what_no_retry_would_change_is_refused_with_the_reason(
    log: EventLog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    body: bytes,
    headers: dict[str, str],
    status: int,
    what: str,
) -> None:
    monkeypatch.setattr(receiver, "MAX_BODY", 2_000)
    answer = client(log).post(URL, content=body, headers=headers)
    assert (answer.status_code, written(tmp_path)) == (status, [])
    assert what in answer.json()["error"]


def test_a_batch_keeps_its_good_events(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = client(log)
    answer = http.post(f"{URL}/batch", json=[GOOD, {"job": 1}, GOOD])
    assert (answer.status_code, len(written(tmp_path))) == (200, 2)
    assert answer.json()["summary"] == {"received": 3, "successful": 2, "failed": 1}
    assert [each["index"] for each in answer.json()["failed_events"]] == [1]
    assert http.post(f"{URL}/batch", json={"events": [GOOD]}).status_code == 200
    assert http.post(f"{URL}/batch", json=[3]).status_code == 400
    assert http.post(f"{URL}/batch", json=GOOD).status_code == 400
    monkeypatch.setattr(receiver, "MAX_BATCH", 1)
    assert http.post(f"{URL}/batch", json=[GOOD, GOOD]).status_code == 413


def test_a_token_is_needed_where_others_can_connect(log: EventLog) -> None:
    http = client(log, TOKEN, "receiver.example")
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}):
        answer = http.post(URL, json=GOOD, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text
    assert http.post(URL, json=GOOD, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 201
    # A name that an attacker points at this machine.
    assert client(log, "", "evil.example").post(URL, json=GOOD).status_code == 403


def test_a_token_in_a_file_is_rotated_while_it_listens_and_one_that_is_gone_lets_nobody_in(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS_DIR", str(folder))
    file, new = folder / "LINEAGE_BRIDGE_OPENLINEAGE_TOKEN", "a new one, of thirty-two letters"
    file.write_text(f"{TOKEN}\n")
    http = TestClient(EventReceiver(log, current_token).app(), base_url="http://127.0.0.1:5000")

    def status(token: str) -> int:
        return http.post(URL, json=GOOD, headers={"authorization": f"Bearer {token}"}).status_code

    assert (status(TOKEN), status(new)) == (201, 401)
    file.write_text(new)
    assert (status(TOKEN), status(new)) == (401, 201)
    # Half of it is written, then nothing is left.
    file.write_text(new[:8])
    assert status(new[:8]) == 401
    file.unlink()
    assert (status(new), status("")) == (401, 401)


def test_a_full_disk_is_to_be_tried_again(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_lines: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log, "append", full)
    answer = client(log).post(URL, json=GOOD)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")


def test_only_what_lineage_needs_is_kept_and_no_secret(log: EventLog, tmp_path: Path) -> None:
    told = event(
        inputs=["postgres://bob:hunter2@pg:5432 shop.public.orders"],
        outputs=[dataset("s3://lake b", facet("dataSource", uri="jdbc:postgresql://bob:hunter2@pg/shop"))],
        run_facets={
            **facet("environmentVariables", environmentVariables=[{"name": "PASSWORD", "value": "hunter2"}]),
            **facet("spark_properties", properties={"spark.password": "hunter2"}),
            **facet("parent", job={"namespace": "airflow", "name": "etl.load"}, run={"runId": "1"}),
        },
        job_facets=facet("sql", query="CREATE USER bob PASSWORD 'hunter2'"),
    )
    assert client(log).post(URL, json=told).status_code == 201
    [kept] = written(tmp_path)
    assert "hunter2" not in json.dumps(kept)
    assert kept["run"]["facets"].keys() == {"parent"}
    assert kept["job"]["facets"]["sql"]["query"].startswith("CREATE USER bob PASSWORD")
