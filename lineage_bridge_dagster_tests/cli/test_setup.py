"""`lineage-bridge setup s3tables`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from lineage_bridge_dagster.operations.setup import aws as aws_module
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.operations.setup.fake_aws import ACCOUNT, FakeAws, Refused
from lineage_bridge_dagster_tests.operations.setup.targets import CATALOG, PRINCIPAL


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeAws:
    monkeypatch.chdir(tmp_path)
    fake = FakeAws(namespaces={"sales": ["orders"]})
    monkeypatch.setattr(aws_module, "aws_session", lambda _settings: fake)
    return fake


def setup(*arguments: str, principal: str = PRINCIPAL) -> Result:
    who = ("--principal", principal) if principal else ()
    return run("setup", "s3tables", "--bucket", "metrics", "--namespace", "sales", *who, *arguments)


def test_plan_shows_each_step_with_its_undo_and_changes_nothing(fake: FakeAws) -> None:
    result = setup()
    assert result.exit_code == 0, result.output
    assert "4 needed: add --apply" in result.stdout
    assert (
        f'aws glue delete-catalog --region us-east-1 --cli-input-json \'{{"CatalogId": "{CATALOG}"}}\''
        in (result.stdout)
    )
    assert result.stdout.count("  do    aws ") == result.stdout.count("  undo  aws ") == 4
    assert fake.changes() == []


def test_apply_then_rollback(fake: FakeAws, tmp_path: Path) -> None:
    before = fake.snapshot()
    applied = setup("--apply")
    assert applied.exit_code == 0, applied.output
    assert "Nothing is needed" in applied.stdout
    record = json.loads((tmp_path / "s3tables-metrics-sales.setup.json").read_text())
    assert record["place"] == f"metrics/sales in us-east-1 of {ACCOUNT}"
    assert len(record["changes"]) == 4
    undone = setup("--rollback", principal="")
    assert undone.exit_code == 0, undone.output
    assert fake.snapshot() == before
    assert "Nothing to undo" in setup("--rollback", principal="").stdout


def test_failed_step_exits_1_with_the_permission_and_the_record(fake: FakeAws) -> None:
    def refuse(_parameters: object) -> None:
        raise Refused("AccessDeniedException", "no")

    fake.before["PutDataLakeSettings"] = refuse
    result = setup("--apply")
    assert result.exit_code == 1
    assert "Allow lakeformation:PutDataLakeSettings" in result.stderr
    assert "s3tables-metrics-sales.setup.json" in result.stderr


def test_namespace_that_can_not_be_deleted_exits_1(fake: FakeAws) -> None:
    fake.namespaces.clear()
    assert setup("--apply").exit_code == 0
    fake.namespaces["sales"] = ["made_later"]
    result = setup("--rollback")
    assert result.exit_code == 1
    assert "kept" in result.stdout


def test_wrong_usage_exits_2(fake: FakeAws) -> None:
    assert setup("--apply", "--rollback").exit_code == 2
    nobody = setup(principal="")
    assert nobody.exit_code == 2
    assert "--principal" in nobody.stderr
    assert setup(principal="somebody").exit_code == 2
