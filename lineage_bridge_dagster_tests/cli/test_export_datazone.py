"""`lineage-bridge export datazone`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.config import aws
from lineage_bridge_dagster.lineage.graph_json import dump
from lineage_bridge_dagster_tests.datazone.service import DOMAIN, DataZoneService
from lineage_bridge_dagster_tests.openlineage.test_events import shop


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> DataZoneService:
    variables = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "LINEAGE_BRIDGE_AWS_REGION": "eu-west-1",
        "LINEAGE_BRIDGE_DATAZONE_DOMAIN": DOMAIN,
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(aws, "_ATTEMPTS", 1)
    monkeypatch.chdir(tmp_path)
    dump(shop().discovery(), tmp_path / "graph.json")
    return DataZoneService()


def run(service: DataZoneService, *arguments: str) -> Result:
    with service.serve() as endpoint:
        return CliRunner().invoke(main, arguments, env={"AWS_ENDPOINT_URL_DATAZONE": endpoint})


def test_command_posts_once_and_tells_what_is_linked(service: DataZoneService) -> None:
    command = ("export", "datazone", "--graph", "graph.json", "--sent", "posted.json")
    dry = run(service, *command, "--dry-run")
    assert dry.stdout == f"DataZone domain {DOMAIN}: 4 would be sent, 0 unchanged\n"
    assert service.calls == []
    first = run(service, *command)
    assert (first.exit_code, first.stdout) == (
        0,
        f"DataZone domain {DOMAIN}: 4 sent, 0 unchanged\n  linked\n",
    )
    second = run(service, *command)
    assert second.stdout == f"DataZone domain {DOMAIN}: 0 sent, 4 unchanged\n"
    ended = run(service, "export", "datazone", "--sent", "posted.json", "--end")
    assert (ended.exit_code, ended.stdout) == (0, f"DataZone domain {DOMAIN}: 3 sent, 0 unchanged\n")


def test_command_that_may_not_post_fails_and_says_what_to_do(service: DataZoneService) -> None:
    service.errors["PostLineageEvent"] = ["AccessDeniedException"] * 8
    refused = run(service, "export", "datazone", "--graph", "graph.json")
    assert refused.exit_code == 1
    assert "4 left for the next time" in refused.stdout
    assert "Allow datazone:PostLineageEvent" in refused.stdout


def test_command_without_a_domain_names_the_variable(
    service: DataZoneService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINEAGE_BRIDGE_DATAZONE_DOMAIN")
    result = run(service, "export", "datazone", "--graph", "graph.json")
    assert result.exit_code == 2
    assert "Set LINEAGE_BRIDGE_DATAZONE_DOMAIN" in " ".join(result.output.split())
