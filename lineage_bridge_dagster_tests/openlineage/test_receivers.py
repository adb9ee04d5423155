"""Receivers, as OpenLineage's own client configures and reaches them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lineage_bridge_dagster.cli.export import openlineage
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.graph_json import dump
from lineage_bridge_dagster.openlineage.emission import emit
from lineage_bridge_dagster.openlineage.events import events
from lineage_bridge_dagster.openlineage.receivers import receivers
from lineage_bridge_dagster.openlineage.sent import NothingKept
from lineage_bridge_dagster_tests.openlineage.collector import Collector, configure_nothing
from lineage_bridge_dagster_tests.openlineage.test_events import problems, shop

KEY = "s3cret-key-of-the-receiver"


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    configure_nothing(monkeypatch, tmp_path)


def configure(monkeypatch: pytest.MonkeyPatch, folder: Path, transport: Any) -> None:
    path = folder / "openlineage.yml"
    path.write_text(json.dumps({"transport": transport}))
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(path))


def test_events_arrive_with_the_key_and_are_valid(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", collector.url)
    monkeypatch.setenv("OPENLINEAGE_API_KEY", KEY)
    before = dict(os.environ)
    discovery = shop().discovery()
    report = emit(discovery, receivers(), NothingKept())
    assert report.ok, report
    assert dict(os.environ) == before
    assert KEY not in str(report)
    assert {(path, headers["Authorization"]) for path, headers, _ in collector.requests} == {
        ("/api/v1/lineage", f"Bearer {KEY}")
    }
    arrived = [event for _, _, event in collector.requests]
    assert [problem for event in arrived for problem in problems(event)] == []
    by_run = {event["run"]["runId"]: event for event in arrived}
    for sent in events(discovery):
        got = by_run.pop(sent["run"]["runId"])
        assert got["job"] == sent["job"]
        assert got["outputs"][0]["facets"] == sent["outputs"][0]["facets"]
    assert by_run == {}


def test_a_key_in_the_file_is_rotated_from_one_discovery_to_the_next(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for key in ("old", "new"):
        auth = {"type": "api_key", "apiKey": key}
        configure(monkeypatch, tmp_path, {"type": "http", "url": collector.url, "auth": auth})
        assert emit(shop().discovery(), receivers(), NothingKept()).ok
        assert collector.requests[-1][1]["Authorization"] == f"Bearer {key}"


@pytest.mark.parametrize(
    ("statuses", "sent", "refused", "reason"),
    [
        ([422], 3, 1, ""),
        ([413, 400], 2, 2, ""),
        ([401] * 4, 0, 0, "HTTP 401; check OPENLINEAGE_API_KEY or the transport's auth"),
        ([403] * 4, 0, 0, "HTTP 403; the key may not send events"),
        ([404] * 4, 0, 0, "HTTP 404; check the URL and its endpoint, api/v1/lineage by default"),
        ([429] * 4, 0, 0, "HTTP 429"),
        ([503, 502], 4, 0, ""),
        ([307] * 4, 0, 0, "Exceeded 0 redirects."),
    ],
)
def test_answers_of_a_receiver(
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    statuses: list[int],
    sent: int,
    refused: int,
    reason: str,
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", collector.url)
    collector.statuses = list(statuses)
    report = emit(shop().discovery(), receivers(), NothingKept()).receivers[0]
    assert (report.sent, len(report.refused), report.reason) == (sent, refused, reason)


def test_part_of_a_composite_that_is_down_is_a_receiver_of_its_own(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    configure(
        monkeypatch,
        tmp_path,
        {
            "type": "composite",
            "transports": {
                "dead": {"type": "http", "url": "http://127.0.0.1:1", "retry": {"total": 0}},
                "marquez": {"type": "async_http", "url": collector.url},
                "file": {"type": "file", "log_file_path": str(file), "append": True},
            },
        },
    )
    found = {
        each.receiver.partition(" ")[0]: each
        for each in emit(shop().discovery(), receivers(), NothingKept()).receivers
    }
    assert {name: (each.sent, each.not_sent) for name, each in found.items()} == {
        "dead": (0, 4),
        "marquez": (4, 0),
        "file": (4, 0),
    }
    assert "refused" in found["dead"].reason
    assert len(file.read_text().splitlines()) == len(collector.requests) == 4


@pytest.mark.parametrize("append", [True, False])
def test_files_have_an_event_a_line_or_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, append: bool
) -> None:
    transport = {"type": "file", "log_file_path": str(tmp_path / "events"), "append": append}
    configure(monkeypatch, tmp_path, transport)
    assert emit(shop().discovery(), receivers(), NothingKept()).receivers[0].sent == 4
    files = list(tmp_path.glob("events*"))
    lines = [line for each in files for line in each.read_text().splitlines()]
    assert (len(files), len(lines)) == (1 if append else 4, 4)
    assert [problem for line in lines for problem in problems(json.loads(line))] == []


def test_parts_that_stand_in_for_each_other_are_one_receiver(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parts = [
        {"type": "http", "url": url, "retry": {"total": 0}} for url in ("http://127.0.0.1:1", collector.url)
    ]
    configure(monkeypatch, tmp_path, {"type": "composite", "continue_on_success": False, "transports": parts})
    [report] = emit(shop().discovery(), receivers(), NothingKept()).receivers
    assert (report.receiver, report.sent, len(collector.requests)) == ("composite", 4, 4)


@pytest.mark.parametrize(
    ("config", "sent", "reason"),
    [
        ({"test.mock.num.brokers": "1", "bootstrap.servers": "localhost:1"}, 4, ""),
        ({"bootstrap.servers": "localhost:1", "message.timeout.ms": "100"}, 0, "Message timed out"),
        (
            {"test.mock.num.brokers": "1", "bootstrap.servers": "localhost:1", "message.max.bytes": "3050"},
            3,
            "",
        ),
    ],
    ids=["delivered", "no broker", "one is too large"],
)
def test_kafka_tells_what_was_delivered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: dict[str, str], sent: int, reason: str
) -> None:
    configure(monkeypatch, tmp_path, {"type": "kafka", "topic": "lineage", "config": config})
    report = emit(shop().discovery(), receivers(), NothingKept()).receivers[0]
    assert report.sent + report.not_sent + len(report.refused) == 4
    assert (report.sent, set(report.refused.values())) == (
        sent,
        {"it is larger than message.max.bytes of the producer"} if sent == 3 else set(),
    )
    assert reason in report.reason


AUTH = {"type": "api_key", "apiKey": KEY}
KAFKA = {"security.protocol": "SASL_PLAINTEXT", "sasl.password": KEY}


@pytest.mark.parametrize(
    "transport",
    [
        {"type": "http", "url": "http://marquez.example", "auth": AUTH},
        {"type": "http", "url": f"http://user:{KEY}@marquez.example"},
        {"type": "http", "url": "http://marquez.example", "custom_headers": {"X-Key": KEY}},
        {
            "type": "http",
            "url": "https://marquez.example",
            "auth": {"type": "jwt", "apiKey": KEY, "tokenEndpoint": "http://login.example/token"},
        },
        {
            "type": "kafka",
            "topic": "t",
            "config": {**KAFKA, "bootstrap.servers": "localhost:9092,b.example:9092"},
        },
        {
            "type": "composite",
            "transports": [{"type": "http", "url": "http://marquez.example", "auth": AUTH}],
        },
        {
            "type": "composite",
            "continue_on_success": False,
            "transports": [{"type": "http", "url": "http://marquez.example", "auth": AUTH}],
        },
    ],
)
def test_no_key_is_sent_in_clear_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, transport: Any
) -> None:
    configure(monkeypatch, tmp_path, transport)
    with pytest.raises(ConfigurationError, match="clear text") as caught:
        receivers()
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no transport"),
        ("{", "cannot be read"),
        (json.dumps({"facets": {}}), "no receiver"),
        (json.dumps({"transport": {"type": "http"}}), "wrongly configured"),
        (json.dumps({"transport": {"type": "no.such.Transport"}}), "wrongly configured"),
    ],
)
def test_wrong_configuration_is_an_error_and_never_a_silent_console(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "own.yml"
    path.write_text(text)
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(path))
    with pytest.raises(ConfigurationError, match=message):
        receivers()


def test_nothing_configured_is_an_error_and_disabled_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="no receiver"):
        receivers()
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    assert receivers() == []


def test_command_sends_what_the_file_lacks(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graph = tmp_path / "graph.json"
    dump(shop().discovery(), graph)
    monkeypatch.setenv("OPENLINEAGE_URL", collector.url)
    command = ["--graph", str(graph), "--send", "--sent", str(tmp_path / "sent.json")]
    for arguments, line in (
        (["--dry-run"], "4 would be sent, 0 unchanged"),
        ([], "4 sent, 0 unchanged"),
        ([], "0 sent, 4 unchanged"),
        (["--end", "--dry-run"], "3 would be sent"),
        (["--end"], "3 sent"),
        ([], "4 sent, 0 unchanged"),
    ):
        result = CliRunner().invoke(openlineage, [*command, *arguments])
        assert (result.exit_code, line in result.output) == (0, True), result.output
    assert len(collector.requests) == 4 + 3 + 4
    assert CliRunner().invoke(openlineage, ["--send", "--end"]).exit_code == 2
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__RETRY", '{"total": 0}')
    assert CliRunner().invoke(openlineage, ["--graph", str(graph), "--send", "-o", "x"]).exit_code == 2
