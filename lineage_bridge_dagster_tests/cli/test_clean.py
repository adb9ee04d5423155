"""`lineage-bridge clean` against a strict Glue."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dagster import DagsterInstance

from lineage_bridge_dagster.assets.lineage_events import SentOfInstance
from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.openlineage.emission import emit
from lineage_bridge_dagster.openlineage.receivers import receivers
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.openlineage.collector import collecting, configure_nothing
from lineage_bridge_dagster_tests.openlineage.test_events import shop


@pytest.fixture
def pushed(graph: Path, catalog: Catalog) -> Catalog:
    assert run("push", "--graph", graph).exit_code == 0
    return catalog


def _has_lineage(catalog: Catalog, table: str) -> bool:
    return "lineage_bridge.digest" in catalog.parameters(table)


def _at_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str, *arguments: str) -> Result:
    with CliRunner().isolation(input=answer) as _:
        kind = type(sys.stdin)
    monkeypatch.setattr(kind, "isatty", lambda _self: True)
    return CliRunner().invoke(main, ["clean", *arguments], input=answer)


def test_everything_of_ours_is_removed_and_a_second_time_there_is_nothing(pushed: Catalog) -> None:
    first = run("clean", "--json")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["counts"]["updated"] == 2
    assert not _has_lineage(pushed, "orders.v1")
    assert json.loads(run("clean", "--json").stdout)["tables"] == []


def test_a_dry_run_shows_the_diff_and_writes_nothing(pushed: Catalog) -> None:
    before = pushed.table("orders.v1")
    result = run("clean", "--dry-run")
    assert result.exit_code == 0
    assert "- lineage_bridge.source_topics: orders.v1" in result.stdout
    assert "2 would be updated" in result.stdout
    assert pushed.table("orders.v1") == before


def test_only_the_named_table_is_cleaned_and_one_that_is_not_there_exits_1(pushed: Catalog) -> None:
    assert run("clean", "--table", f"{CLUSTER}.orders.v1").exit_code == 0
    assert not _has_lineage(pushed, "orders.v1")
    assert _has_lineage(pushed, "customer.profiles-eu")
    missing = run("clean", "--table", f"{CLUSTER}.gone")
    assert missing.exit_code == 1
    assert f"Glue has no table {CLUSTER}.gone" in missing.stdout


def test_a_catalog_that_cannot_be_listed_fails_with_the_iam_action(pushed: Catalog) -> None:
    pushed.aws.fail("GetDatabases", "AccessDeniedException", status=400, times=9)
    result = run("clean")
    assert result.exit_code == 1
    assert "glue:GetDatabases" in result.stderr


def test_a_person_is_asked_and_no_leaves_everything(pushed: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = _at_a_terminal(monkeypatch, "n\n")
    assert refused.exit_code == 1
    assert "Remove the lineage of 2 tables in us-east-1" in refused.stderr
    assert _has_lineage(pushed, "orders.v1")


@pytest.mark.parametrize(("answer", "arguments"), [("y\n", ()), ("", ("--yes",))])
def test_a_person_who_agrees_is_served(
    pushed: Catalog, monkeypatch: pytest.MonkeyPatch, answer: str, arguments: tuple[str, ...]
) -> None:
    assert _at_a_terminal(monkeypatch, answer, *arguments).exit_code == 0
    assert not _has_lineage(pushed, "orders.v1")


def test_runs_at_receivers_are_ended_by_what_the_instance_keeps(
    pushed: Catalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configure_nothing(monkeypatch, tmp_path)
    (home := tmp_path / "home").mkdir()
    with collecting() as collector, DagsterInstance.local_temp(str(home)) as instance:
        monkeypatch.setenv("DAGSTER_HOME", str(home))
        monkeypatch.setenv("OPENLINEAGE_URL", collector.url)
        [receiver] = receivers()
        assert emit(shop().discovery(), [receiver], SentOfInstance(instance, "eu")).ok
        before = len(collector.requests)
        assert run("clean", "--component", "eu", "--table", f"{CLUSTER}.orders.v1").exit_code == 0
        dry = run("clean", "--component", "eu", "--dry-run")
        assert "3 would be sent" in dry.stderr
        assert len(collector.requests) == before
        result = run("clean", "--component", "eu", "--json")
        assert (result.exit_code, json.loads(result.stdout)["counts"]["updated"]) == (0, 1)
        assert f"Ends of runs for default_http ({collector.url}): 3 sent" in result.stderr
        ends = [event["eventType"] for _, _, event in collector.requests[before:]]
        assert ends == ["ABORT"] * 3
        # A receiver that is down is a failure, and what it lacks is kept.
        assert emit(shop().discovery(), receivers(), SentOfInstance(instance, "eu")).ok
        collector.statuses = [401] * 9
        assert run("clean", "--component", "eu").exit_code == 1
        collector.statuses = []
        assert "3 sent" in run("clean", "--component", "eu").stderr
