"""`lineage-bridge doctor` against a strict Glue and the Confluent emulator: output, exit codes, no secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator
from lineage_bridge_dagster_tests.operations.doctor.examined import table_policy

CLOUD_SECRET = "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET"


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConfluentEmulator]:
    with ConfluentEmulator() as running:
        for name, value in running.env().items():
            monkeypatch.setenv(name, value)
        yield running


def test_exits_0_where_all_is_well(catalog: Catalog, graph: Path, emulator: ConfluentEmulator) -> None:
    checks = ("confluent", "aws.credentials", "aws.identity", "aws.account", "aws.region", "glue.read")
    options = [part for name in checks for part in ("--only", name)]
    result = run("doctor", "--graph", graph, *options)
    assert result.exit_code == 0, result.output
    assert "failed" not in result.stdout
    assert "ok        glue.read: glue:GetDatabases in us-east-1." in result.stdout


def test_an_identity_with_the_printed_policy_may_read_all_that_the_doctor_reads(
    catalog: Catalog, graph: Path, emulator: ConfluentEmulator
) -> None:
    checks = ("confluent", "aws", "glue.read", "glue.missing_tables", "glue.optimizers", "glue.athena_names")
    options = [part for name in checks for part in ("--only", name)]
    catalog.aws.restrict(_policy("--push", "--graph", graph))
    without = run("doctor", "--graph", graph, *options)
    assert without.exit_code == 3, without.output
    assert "`lineage-bridge iam-policy --doctor` prints the policy" in without.stdout
    catalog.aws.restrict(_policy("--push", "--doctor", "--graph", graph))
    result = run("doctor", "--graph", graph, *options)
    assert result.exit_code == 0, result.output


def _policy(*arguments: str | Path) -> dict[str, object]:
    result = run("iam-policy", *arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_what_is_broken_is_named_with_its_remedy_and_the_rest_goes_on(
    catalog: Catalog, graph: Path, emulator: ConfluentEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLOUD_SECRET, "wrong-secret-0123456789")
    catalog.aws.restrict(table_policy(catalog.aws.account_id, CLUSTER))
    result = run("doctor", "--graph", graph, "--json", "--only", "confluent", "--only", "glue.read")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["ok"] is False
    failed = [finding for finding in report["findings"] if finding["status"] == "failed"]
    assert [finding["check"] for finding in failed] == ["confluent.cloud", "glue.read"]
    assert CLOUD_SECRET.replace("SECRET", "KEY") in failed[0]["remedy"]
    assert "glue:GetDatabases" in failed[1]["remedy"]
    assert {"check", "status", "tried", "result", "remedy"} == failed[0].keys()
    assert any(finding["status"] == "ok" for finding in report["findings"])


def test_exits_3_where_nothing_failed_but_something_warns(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGON", "us-east-1")
    result = run("doctor", "--only", "machine.variables")
    assert result.exit_code == 3
    assert "LINEAGE_BRIDGE_AWS_REGION" in result.stdout


def test_a_check_that_does_not_exist_is_wrong_usage(catalog: Catalog) -> None:
    result = run("doctor", "--only", "glue.reads")
    assert result.exit_code == 2
    assert "glue.read" in result.stderr
    assert "--list" in result.stderr


def test_catalogs_of_an_instances_file_are_checked(catalog: Catalog, tmp_path: Path) -> None:
    defs = tmp_path / "defs.yaml"
    lake = "{name: lake, type: rest, uri: 'http://127.0.0.1:9'}"
    defs.write_text(
        "type: lineage_bridge_dagster.component.LineageBridgeComponent\n"
        f"attributes:\n  catalogs:\n    - {lake}\n"
    )
    result = run("doctor", "--defs", defs, "--only", "catalogs.reach")
    assert result.exit_code == 1, result.output
    assert "Opened catalog lake at http://127.0.0.1:9" in result.stdout
    assert "Check uri of the catalog" in result.stdout


def test_the_list_has_a_question_for_each_check(catalog: Catalog) -> None:
    result = run("doctor", "--list", "--only", "glue")
    assert result.exit_code == 0
    assert "glue.optimizers" in result.stdout
    assert "confluent" not in result.stdout


def test_no_secret_is_in_the_output(
    catalog: Catalog, graph: Path, emulator: ConfluentEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-secret-0123456789")
    monkeypatch.setenv(CLOUD_SECRET, "wrong-secret-0123456789")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:proxy-secret@127.0.0.1:9")
    areas = ("machine.variables", "network", "confluent", "aws", "glue.read")
    options = [part for name in areas for part in ("--only", name)]
    result = run("doctor", "--graph", graph, *options)
    for secret in (
        "aws-secret-0123456789",
        "wrong-secret-0123456789",
        "proxy-secret",
        *(key.secret for key in world.API_KEYS),
    ):
        assert secret not in result.output


def test_colors_are_left_out_without_a_terminal_and_with_no_color(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from lineage_bridge_dagster.cli.main import main

    def colored() -> bool:
        return "\x1b[" in CliRunner().invoke(main, ["doctor", "--only", "aws.region"], color=True).stdout

    assert "\x1b[" not in run("doctor", "--only", "aws.region").stdout
    assert colored()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colored()
