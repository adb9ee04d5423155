"""The `curl` commands of the page on pushes, run against a webserver and a strict Glue."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterInstance

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster_tests.assets.location import create_tables
from lineage_bridge_dagster_tests.assets.world import REGION, World
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi, eventually, webserver

pytestmark = pytest.mark.xdist_group("push_by_http")

ROOT = Path(__file__).parents[1]
#: The page's example.
CLUSTER, TOPIC = "lkc-abc123", "orders.v1"
TABLE = f"{CLUSTER}.{TOPIC}"
RESULT = "lineage_bridge/result"


def lineage() -> World:
    w = World()
    for api in ("kafka", "connect", "tableflow"):
        w.report(api, CLUSTER)
    connector = w.connector(CLUSTER, "debezium-pg", "PostgresCdcSourceV2")
    for topic in (TOPIC, "customers"):
        w.edge(connector, w.topic(CLUSTER, topic), EdgeType.PRODUCES)
        w.glue(CLUSTER, topic)
    return w


@dataclass
class Platform:
    """A webserver with the project's code location, and the Glue catalog that it pushes to."""

    ui: DagsterUi
    aws: StrictAws

    def curl(self, command: str, **variables: str) -> dict[str, Any]:
        """Run a command of the page in a shell, sent to this webserver."""
        assert "curl" in command
        process = subprocess.run(
            ["bash", "-c", command.replace("http://localhost:3000", self.ui.url)],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        answer: dict[str, Any] = json.loads(process.stdout)
        assert "errors" not in answer, answer
        data: dict[str, Any] = answer["data"]
        return data

    def launch(self, change: Callable[[str], str] = str, *, command: int = 0) -> dict[str, Any]:
        launched: dict[str, Any] = self.curl(change(commands()[command]))["launchRun"]
        return launched

    def finished(self, launched: dict[str, Any]) -> Run:
        """Read the run with the page's command until it has ended."""
        assert launched["__typename"] == "LaunchRunSuccess", launched

        def ended() -> dict[str, Any] | None:
            run: dict[str, Any] = self.curl(commands()[1], RUN_ID=launched["run"]["runId"])["runOrError"]
            return run if run["status"] in ("SUCCESS", "FAILURE") else None

        run = eventually(ended, 120, "the end of the run")
        return Run(run["status"], [event for event in run["eventConnection"]["events"] if event])

    def table(self) -> dict[str, Any]:
        table: dict[str, Any] = self.aws.client("glue", REGION).get_table(DatabaseName=CLUSTER, Name=TOPIC)[
            "Table"
        ]
        return table


@dataclass
class Run:
    """What the page's command shows of a run."""

    status: str
    events: list[dict[str, Any]]

    def results(self) -> dict[str, dict[str, Any]]:
        """The result of each table with an event, by the last part of the asset's key."""
        return {
            event["assetKey"]["path"][-1]: json.loads(entry["jsonString"])
            for event in self.events
            if "assetKey" in event
            for entry in event["metadataEntries"]
            if entry["label"] == RESULT
        }

    def failure(self) -> str:
        return "".join(event["error"]["message"] for event in self.events if "error" in event)


def commands() -> list[str]:
    """The page's commands: a push of some tables, the run's outcome, and a materialization of a table."""
    text = (ROOT / "docs/push_by_http.md").read_text()
    return re.findall(r"```bash\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    home = tmp_path_factory.mktemp("dagster")
    with DagsterInstance.local_temp(str(home)) as instance:
        StateStore.of(instance, "LineageBridgeComponent").store(lineage().discovery())
    with StrictAws() as aws:
        create_tables(aws.client("glue", REGION), lineage())
        env = {
            "AWS_ENDPOINT_URL": aws.endpoint_url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "LINEAGE_BRIDGE_AWS_REGION": REGION,
        }
        with webserver(home, "-w", str(ROOT / "workspace.yaml"), folder=ROOT, env=env) as ui:
            yield Platform(ui, aws)


def test_a_dry_run_returns_the_diff_and_writes_nothing(platform: Platform) -> None:
    before = platform.table()
    run = platform.finished(platform.launch())
    assert run.status == "SUCCESS"
    results = run.results()
    assert list(results) == [TOPIC]
    assert results[TOPIC]["name"] == TABLE
    assert results[TOPIC]["status"] == "updated"
    assert f"+ lineage_bridge.source_topics: {TOPIC}" in results[TOPIC]["diff"]
    assert not [line for line in results[TOPIC]["diff"] if "Managed by" in line]
    assert platform.table() == before


def test_a_push_writes_what_the_options_say_and_a_materialization_the_rest(platform: Platform) -> None:
    run = platform.finished(platform.launch(lambda text: text.replace('"dry_run": true', '"dry_run": false')))
    assert run.status == "SUCCESS"
    assert run.results()[TOPIC]["status"] == "updated"
    assert "lineage_bridge.digest" in platform.table()["Parameters"]
    assert platform.table()["Description"] == "Kept by the data team."

    assert platform.finished(platform.launch(command=2)).status == "SUCCESS"
    assert platform.table()["Description"].endswith("Managed by LineageBridge")


def test_a_table_that_does_not_exist_fails_the_run_by_name(platform: Platform) -> None:
    run = platform.finished(platform.launch(lambda text: text.replace(TABLE, f"{CLUSTER}.order.v1")))
    assert run.status == "FAILURE"
    assert f"The graph has no Glue table {CLUSTER}.order.v1" in run.failure()
    assert f"Did you mean {TABLE}?" in run.failure()


@pytest.mark.parametrize(
    ("option", "wrong", "named"),
    [
        ('"dry_run": true', '"dryrun": true', "dryrun"),
        ('"set_description": false', '"set_description": "no"', "set_description"),
        (f'["{TABLE}"]', f'"{TABLE}"', "tables"),
    ],
)
def test_a_wrong_option_is_named_in_the_answer(
    platform: Platform, option: str, wrong: str, named: str
) -> None:
    answer = platform.launch(lambda text: text.replace(option, wrong))
    assert answer["__typename"] == "RunConfigValidationInvalid"
    assert named in "".join(error["message"] for error in answer["errors"])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [('"jobName": "push"', '"jobName": "pushes"'), ("lineage_bridge_dagster", "elsewhere")],
)
def test_a_wrong_job_or_location_is_named_in_the_answer(platform: Platform, right: str, wrong: str) -> None:
    answer = platform.launch(lambda text: text.replace(right, wrong))
    assert wrong.rpartition('": ')[2].strip('"') in answer["message"]
