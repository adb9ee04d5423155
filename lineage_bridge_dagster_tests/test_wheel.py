"""The built wheel in a user's project, installed without extras next to the user's own code."""

from __future__ import annotations

import json
import zipfile
from importlib.metadata import distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests import bad_instance
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION, add_table, discovery
from lineage_bridge_dagster_tests.wheel import ROOT, WheelEnvironment, build_wheel, install

pytestmark = pytest.mark.xdist_group("wheel")

COMPONENT = "lineage_bridge_dagster.component.LineageBridgeComponent"
COLLECTOR = "lineage_bridge_dagster.component.InventoryCollectorComponent"
TOPICS = "lineage_bridge_dagster.component.TopicToIcebergComponent"

#: It loads what no discovery has found.
_ASSET = """\
from dagster import AssetIn, asset


@asset(ins={"orders": AssetIn(["glue", "lkc-abc123", "orders.v1"])}, io_manager_key="lineage_io_manager")
def orders_report(orders) -> None: ...
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
    java = {"sql/flink/FlinkTrees.java", "spark/decoding/JsonRecords.java", "spark/decoding/JsonShape.java"}
    assert {"py.typed", "jars/ivy.xml", "jars/checksums.txt"} | java <= package
    files = {"dagster.yaml", "workspace.yaml", "deploy/dagster.yaml", "deploy/workspace.yaml"}
    assert {f"templates/{name}" for name in files} <= package
    assert not [name for name in names if "tests" in name]


def test_code_comes_from_the_wheel_and_reports_its_version(
    environment: WheelEnvironment, project: Path
) -> None:
    code = "import lineage_bridge_dagster as p; print(p.__file__, p.__version__)"
    file, version = environment.run("python", "-c", code, cwd=project).stdout.split()
    assert Path(file).is_relative_to(environment.root)
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def test_lineage_is_pushed_without_extras(
    environment: WheelEnvironment, project: Path, tmp_path: Path
) -> None:
    lineage = Graph()
    add_table(lineage, "orders.v1")
    graph_json.dump(discovery(lineage), tmp_path / "lineage_graph.json")
    with StrictAws() as aws:
        catalog = Catalog(aws)
        catalog.create("orders.v1")
        process = environment.run(
            *("lineage-bridge", "push", "--graph", str(tmp_path / "lineage_graph.json"), "--json"),
            cwd=project,
            variables={
                "AWS_ENDPOINT_URL": aws.endpoint_url,
                "AWS_ACCESS_KEY_ID": "test",
                "AWS_SECRET_ACCESS_KEY": "test",
                "LINEAGE_BRIDGE_AWS_REGION": REGION,
            },
        )
        assert json.loads(process.stdout)["counts"]["updated"] == 1
        assert catalog.parameters("orders.v1")["lineage_bridge.source_topics"] == "orders.v1"


@pytest.mark.parametrize(
    ("extra", "package", "code"),
    [
        (
            "azure",
            "the package azure",
            "from lineage_bridge_dagster.collector.landing import AzureLanding as A; A(None)",
        ),
        (
            "collector",
            "the package sqlglot",
            "from lineage_bridge_dagster.collector import Extractor as E; E(regions=['us-east-1']).run()",
        ),
        (
            "connect",
            "a package: [PACKAGE_NOT_INSTALLED] grpcio-status",
            "from lineage_bridge_dagster.spark.remote import _opened as o; o(None)",
        ),
        (
            "openlineage",
            "the package openlineage",
            "from lineage_bridge_dagster.openlineage.receivers import receivers as r; r()",
        ),
        (
            "polars",
            "the package polars",
            "from lineage_bridge_dagster.spark.io.arrow.kinds import FrameKind as F, from_arrow as a; "
            "a(None, F.POLARS)",
        ),
        (
            "topics",
            "the package grpc_tools",
            "from lineage_bridge_dagster.schemas.protobuf_files import compiled as c; "
            "from lineage_bridge_dagster.schemas.schemas import RegisteredSchema as S; "
            "c(S('PROTOBUF', 'message M {}'))",
        ),
    ],
)
def test_error_names_the_extra_that_is_missing(
    environment: WheelEnvironment, project: Path, extra: str, package: str, code: str
) -> None:
    process = environment.run("python", "-c", code, cwd=project, check=False)
    assert process.returncode == 1
    assert f"needs {package}" in process.stderr
    assert f"pip install 'lineage-bridge-dagster[{extra}]'" in process.stderr


def test_embedded_stack_names_its_extra_when_it_is_not_installed(
    environment: WheelEnvironment, project: Path
) -> None:
    process = environment.run("lineage-bridge", "local", "up", cwd=project, check=False)
    assert process.returncode == 2
    assert "pip install 'lineage-bridge-dagster[local]'" in process.stderr


def test_init_writes_dagsters_settings_for_the_project(environment: WheelEnvironment, project: Path) -> None:
    home = project / "home"
    environment.run("lineage-bridge", "init", "--home", str(home), cwd=project)
    assert "ForkServerRunLauncher" in (home / "dagster.yaml").read_text()
    assert "module_name: ours.definitions" in (project / "workspace.yaml").read_text()


def test_extras_of_shared_storage_keep_boto3_in_step_with_botocore(environment: WheelEnvironment) -> None:
    """s3fs pins botocore; without its own extra, boto3 would stay at a version that wants another one."""
    (wheel,) = distributions(name="lineage-bridge-dagster", path=[str(environment.site_packages)])
    extras: dict[str, Requirement] = {}
    for text in wheel.requires or ():
        requirement = Requirement(text)
        for extra in ("s3", "postgres"):
            if requirement.marker and requirement.marker.evaluate({"extra": extra}):
                extras[extra] = requirement
    assert (extras["s3"].name, extras["s3"].extras) == ("s3fs", {"boto3"})
    # Dagster's libraries have the version of a Dagster that is theirs alone.
    assert extras["postgres"].name == "dagster-postgres"
    assert extras["postgres"].specifier.contains(version("dagster-aws"))


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


def test_the_code_location_that_deployments_run_loads_outside_of_a_project(
    environment: WheelEnvironment, tmp_path: Path
) -> None:
    command = ("dagster", "definitions", "validate", "-m", "lineage_bridge_dagster.definitions")
    environment.run(*command, cwd=tmp_path, variables={"DAGSTER_HOME": str(tmp_path)})


def test_two_scaffolded_instances_load_beside_other_code(
    environment: WheelEnvironment, project: Path
) -> None:
    for name in ("lineage", "us"):
        environment.run("dg", "scaffold", "defs", COMPONENT, name, cwd=project)
    environment.run("dg", "check", "yaml", cwd=project)
    environment.run("dg", "check", "defs", cwd=project)
    listed = json.loads(environment.run("dg", "list", "defs", "--json", cwd=project).stdout)
    assert {"orders_report", "glue/lkc-abc123/orders.v1"} <= {each["asset_key"] for each in listed["assets"]}
    assert {"refresh", "us_refresh"} <= {job["name"] for job in listed["jobs"]}
    assert {"glue", "us_glue"} <= {resource["name"] for resource in listed["resources"]}
