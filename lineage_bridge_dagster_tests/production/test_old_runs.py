"""Old runs are deleted from PostgreSQL beside a running deployment, whose pages show what they showed."""

from __future__ import annotations

import time

import pytest
from click.testing import CliRunner

from lineage_bridge_dagster.automation.old_runs import delete_old_runs
from lineage_bridge_dagster.automation.run_retention import RunRetention
from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster_tests.automation import played_runs
from lineage_bridge_dagster_tests.automation.played_runs import LINEAGE, NEEDED, OLD, ORDERS, REFRESH
from lineage_bridge_dagster_tests.production.conftest import Deployed

pytestmark = [pytest.mark.xdist_group("production"), pytest.mark.timeout(900)]

_PAGE = """
query($key: AssetKeyInput!, $run: ID!) {
  assetOrError(assetKey: $key) { ... on Asset { assetMaterializations(limit: 5) {
    runId metadataEntries { label ... on IntMetadataEntry { intValue } } } } }
  runOrError(runId: $run) { __typename }
  assetCheckExecutions(assetKey: $key, checkName: "valid", limit: 5) {
    runId status evaluation { metadataEntries { label ... on IntMetadataEntry { intValue } } } }
}
"""


def test_assets_page_shows_the_last_materialization_and_its_metadata_after_old_runs_are_gone(
    deployed: Deployed,
) -> None:
    production = deployed.production
    with production.instance() as instance:
        runs = played_runs.play(instance)
        # What a run prints is stored in S3.
        assert all(production.log_objects(run_id) for run_id in runs.ids.values())
        told = CliRunner().invoke(main, ["delete-runs", "--older-than", "1", "--dry-run"])
        assert (told.exit_code, told.stdout) == (0, "0 old runs would be deleted\n"), told.output
        assert runs.left == set(runs.ids)
        retention = RunRetention(30, frozenset({LINEAGE, REFRESH}))
        report = delete_old_runs(instance, retention, now=time.time() + 40 * 86_400)
        assert report.logs_problem == ""
        assert {name for name, run_id in runs.ids.items() if production.log_objects(run_id)} == runs.left
        assert set(runs.ids) - runs.left == OLD
        assert runs.left >= NEEDED
    last, key = runs.ids["orders 3"], {"path": list(ORDERS.path)}
    shown = deployed.query(_PAGE, key=key, run=last)
    rows = {"label": "rows", "intValue": 7}
    # Two of them are gone with their runs, and so are their check results.
    assert [each["runId"] for each in shown["assetOrError"]["assetMaterializations"]] == [
        last, runs.ids["all"],
    ]  # fmt: skip
    assert rows in shown["assetOrError"]["assetMaterializations"][0]["metadataEntries"]
    assert shown["runOrError"]["__typename"] == "Run"
    assert [each["runId"] for each in shown["assetCheckExecutions"]] == [last, runs.ids["all"]]
    assert shown["assetCheckExecutions"][0]["evaluation"]["metadataEntries"] == [
        {"label": "seen", "intValue": 7}
    ]
    gone = deployed.query(_PAGE, key=key, run=runs.ids["orders 1"])
    assert gone["runOrError"]["__typename"] == "RunNotFoundError"
