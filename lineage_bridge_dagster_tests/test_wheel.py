"""The built wheel in a user's project, installed without extras next to the user's own code."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from lineage_bridge_dagster_tests import bad_instance
from lineage_bridge_dagster_tests.wheel import ROOT, WheelEnvironment, build_wheel, install

pytestmark = pytest.mark.xdist_group("wheel")

COMPONENT = "lineage_bridge_dagster.component.LineageBridgeComponent"
COLLECTOR = "lineage_bridge_dagster.component.InventoryCollectorComponent"
TOPICS = "lineage_bridge_dagster.component.TopicToIcebergComponent"

_ASSET = """\
from dagster import asset


@asset
def orders_report() -> None: ...
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> WheelEnvironment:
    folder = tmp_path_factory.mktemp("wheel")
    return install(build_wheel(folder / "dist"), folder / "env")


@pytest.fixture(scope="module")
def project(environment: WheelEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's project with an asset, installed in the environment."""
    root = tmp_path_factory.mktemp("project")
    bad_instance.project(root, [])
    defs = root / "ours" / "defs"
    defs.mkdir()
    (defs / "__init__.py").touch()
    (defs / "orders.py").write_text(_ASSET)
    (environment.site_packages / "ours.pth").write_text(f"{root}\n")
    return root


def test_wheel_contains_the_typed_package_and_its_data_files_but_no_tests(
    environment: WheelEnvironment,
) -> None:
    names = zipfile.ZipFile(environment.wheel).namelist()
    package = {name.removeprefix("lineage_bridge_dagster/") for name in names}
    assert {"py.typed", "jars/ivy.xml", "jars/checksums.txt", "sql/flink/FlinkTrees.java"} <= package
    assert not [name for name in names if "tests" in name]


def test_code_comes_from_the_wheel_and_reports_its_version(
    environment: WheelEnvironment, project: Path
) -> None:
    code = "import lineage_bridge_dagster as p; print(p.__file__, p.__version__)"
    file, version = environment.run("python", "-c", code, cwd=project).stdout.split()
    assert Path(file).is_relative_to(environment.root)
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def test_embedded_stack_names_its_extra_when_it_is_not_installed(
    environment: WheelEnvironment, project: Path
) -> None:
    process = environment.run("lineage-bridge", "local", "up", cwd=project, check=False)
    assert process.returncode == 2
    assert "pip install 'lineage-bridge-dagster[local]'" in process.stderr


def test_lineagebridges_command_is_installed(environment: WheelEnvironment, project: Path) -> None:
    assert "--env" in environment.run("lineage-bridge-extract", "--help", cwd=project).stdout
    process = environment.run("lineage-bridge-extract", "--env", "env-1", cwd=project, check=False)
    assert process.returncode == 2
    assert "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY" in process.stderr
    assert not (project / "lineage_graph.json").exists()


def test_dg_lists_the_components(environment: WheelEnvironment, project: Path) -> None:
    listed = json.loads(environment.run("dg", "list", "components", "--json", cwd=project).stdout)["items"]
    ours = [item for item in listed if item["key"].startswith("lineage_bridge_dagster")]
    assert [item["key"] for item in ours] == [COLLECTOR, COMPONENT, TOPICS]
    assert all(item["summary"] for item in ours)


def test_dg_describes_the_component_and_each_of_its_fields(
    environment: WheelEnvironment, project: Path
) -> None:
    text = environment.run("dg", "utils", "inspect-component", COMPONENT, cwd=project).stdout
    schema = json.loads(text[text.index("Component schema:") :].partition("\n")[2])
    assert {"confluent", "aws", "spark", "push", "sensor"} <= schema["properties"].keys()
    assert all(field.get("description") for field in schema["properties"].values())


def test_two_scaffolded_instances_load_beside_other_code(
    environment: WheelEnvironment, project: Path
) -> None:
    for name in ("lineage", "us"):
        environment.run("dg", "scaffold", "defs", COMPONENT, name, cwd=project)
    environment.run("dg", "check", "yaml", cwd=project)
    environment.run("dg", "check", "defs", cwd=project)
    listed = json.loads(environment.run("dg", "list", "defs", "--json", cwd=project).stdout)
    assert "orders_report" in {asset["asset_key"] for asset in listed["assets"]}
    assert {"refresh", "us_refresh"} <= {job["name"] for job in listed["jobs"]}
    assert {"glue", "us_glue"} <= {resource["name"] for resource in listed["resources"]}
