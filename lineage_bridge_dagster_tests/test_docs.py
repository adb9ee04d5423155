"""The README and the pages under docs/ match the code."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.config.unread_variables import is_read
from lineage_bridge_dagster.lineage import documents
from lineage_bridge_dagster.lineage.chains import chains_of
from lineage_bridge_dagster.lineage.documents import (
    KEY_DIGEST,
    KEY_LAST_SYNCED,
    KEY_UPSTREAM_CHAIN,
    digest,
    render,
)
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.unknowns import Unknown
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster_tests import connector_tables, reference
from lineage_bridge_dagster_tests.assets.world import EAST, world
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "lineage_bridge_dagster"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Without the reference, whose names the code declares.
ALL = "\n".join(page.read_text() for page in PAGES if page.name != "reference.md")

#: LineageBridge's own variables, which this project does not read but the page for its users mentions.
_LINEAGEBRIDGE_ONLY = {
    "API_HOST",
    "API_KEY",
    "API_PORT",
    "API_URL",
    "AUDIT_LOG_BOOTSTRAP_SERVERS",
    "AWS_DATAZONE",
    "DATABRICKS",
    "EXTRACT_OUTPUT_PATH",
    "GCP",
    "KSQLDB_ENDPOINT",
    "SCHEMA_REGISTRY_ENDPOINT",
    "STORAGE__BACKEND",
    "STORAGE__PATH",
    "WATCH_COOLDOWN",
    "WATCH_ENV",
}

each_page = pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)


def _code() -> str:
    return "\n".join(path.read_text() for path in PACKAGE.rglob("*") if path.suffix in (".py", ".yaml"))


def _blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text()
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)


def test_iam_policy_is_the_output_of_its_command() -> None:
    command = shlex.split(_blocks("docs/iam.md", "bash")[0].replace("\\\n", " "))
    assert command[0] == "lineage-bridge"
    result = CliRunner().invoke(main, command[1:])
    assert (result.exit_code, result.stderr) == (0, "")
    assert _blocks("docs/iam.md", "json")[0] == result.stdout


def test_example_subclass_changes_keys_groups_owners_and_descriptions() -> None:
    names: dict[str, Any] = {}
    exec(_blocks("docs/own_project.md", "python")[0], names)  # noqa: S102 - the page's own example
    inventory = build_inventory(world().discovery(), names["OurLineage"]().get_asset_spec)
    spec = next(asset for asset in inventory.tables if asset.key.path[-1] == "o.v1").spec
    assert spec.key.path == ["lake", "glue", EAST, "o.v1"]
    assert (spec.group_name, spec.owners) == ("lake/catalog_table", ["team:data-platform"])
    assert spec.description.endswith("Questions: #data-platform")
    assert [key.path for key in inventory.deps_of[spec.key]] == [["lake", "upstream_chain", EAST, "o.v1"]]


def test_every_command_exists() -> None:
    commands = re.findall(r"lineage-bridge ((?:[a-z0-9][a-z0-9-]* ?)+)", ALL)
    assert len(commands) >= 5
    for words in commands:
        command: click.Command = main
        for word in shlex.split(words):
            if not isinstance(command, click.Group):
                break
            subcommand = command.get_command(click.Context(command), word)
            assert subcommand is not None, f"lineage-bridge {words}"
            command = subcommand


def test_every_command_is_on_the_page_of_commands_and_has_examples() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    listed = set()
    for cell in re.findall(r"^\| (`lineage-bridge .+?`) \| ", page, re.MULTILINE):
        first, *siblings = re.findall(r"`([^`]+)`", cell)
        words = [*itertools.takewhile(lambda word: re.fullmatch("[a-z][a-z0-9-]*", word), first.split())]
        listed |= {" ".join(words), *(" ".join([*words[:-1], each]) for each in siblings)}
    assert listed == {path for path, _ in _leaves(main, "lineage-bridge")}
    without = [path for path, each in _leaves(main, "lineage-bridge") if "Example" not in (each.help or "")]
    assert without == []


def _leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(context := click.Context(command)):
        if (inner := command.get_command(context, name)) is not None and not inner.hidden:
            yield from _leaves(inner, f"{path} {name}")


def test_every_variable_is_read_by_the_code() -> None:
    """Each LINEAGE_BRIDGE_* variable is in the code, or derives from a setting or an API."""
    code = _code()
    fields = {
        name.upper() for group in Settings.model_fields.values() for name in group.annotation.model_fields
    }
    planes = ("CONFLUENT_CLOUD", "KAFKA", "SCHEMA_REGISTRY", "FLINK", "KSQLDB", "TABLEFLOW")
    for name in set(re.findall(r"LINEAGE_BRIDGE_([A-Z_]+[A-Z])", ALL)) - _LINEAGEBRIDGE_ONLY:
        known = (
            f"LINEAGE_BRIDGE_{name}" in code
            or any(name.startswith(f"{plane}_API_") for plane in planes)
            or name in fields
            or is_read(f"LINEAGE_BRIDGE_{name}", {})
            or any(name == f"{group.upper()}_{field}" for group in Settings.model_fields for field in fields)
        )
        assert known, name


@each_page
def test_every_image_and_link_target_exists(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith("http"):
            assert (page.parent / target).is_file(), f"{page.name}: {target}"
    for image in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
        assert (page.parent / image).stat().st_size < 250_000, image


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_is_text_that_every_viewer_shows(page: Path) -> None:
    assert re.findall(r"[^\n -\ud7ff\ue000-\U0010ffff]", page.read_text()) == []


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in PAGES[1:] if f"({page.relative_to(ROOT)})" not in readme] == []


def test_tables_of_connectors_are_current() -> None:
    for path, (name, table) in connector_tables.tables().items():
        page = path.read_text()
        assert connector_tables.with_table(page, name, table) == page, (
            f"Run: {connector_tables.HOW_TO_UPDATE}"
        )


def test_reference_is_current() -> None:
    assert reference.page() == reference.PAGE.read_text(), f"Run: {reference.HOW_TO_UPDATE}"


def test_reference_has_every_parameter_that_a_push_writes() -> None:
    keys = {value for name, value in vars(documents).items() if name.startswith("KEY_")}
    section = reference.PAGE.read_text().partition("## Parameters in Glue")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)) == keys


def test_page_of_connectors_explains_everything_that_may_be_unknown() -> None:
    page = (ROOT / "docs/connectors.md").read_text()
    _, _, section = page.partition("| `unknown` | meaning |")
    assert set(re.findall(r"^\| `(\w+)` \|", section.partition("##")[0], re.MULTILINE)) == set(Unknown)


def test_troubleshooting_quotes_messages_of_the_code() -> None:
    code = " ".join(re.sub(r'"\s*\n\s*f?"', "", _code()).split())
    rows = re.findall(r"^\| `([A-Z.][^`]+)` \|", (ROOT / "docs/troubleshooting.md").read_text(), re.MULTILINE)
    assert len(rows) >= 8
    for message in rows:
        for part in filter(None, (piece.strip() for piece in message.split("..."))):
            assert part in code, message


@pytest.mark.parametrize("number", [0, 1])
def test_example_of_two_instances_has_valid_fields(number: int) -> None:
    from lineage_bridge_dagster.component import LineageBridgeComponent

    instance = yaml.safe_load(_blocks("docs/own_project.md", "yaml")[number])
    LineageBridgeComponent.model().model_validate(instance["attributes"])
    assert instance["attributes"]["name"] in ("eu", "us")


def test_yaml_of_each_cluster_has_fields_that_select_one_spark() -> None:
    from lineage_bridge_dagster.component import LineageBridgeComponent
    from lineage_bridge_dagster.spark.settings import SparkConfig

    pages = ("docs/clusters.md", "docs/managed_clusters.md")
    blocks = [yaml.safe_load(text)["attributes"] for page in pages for text in _blocks(page, "yaml")]
    assert len(blocks) >= 6
    for attributes in blocks:
        LineageBridgeComponent.model().model_validate(attributes)
        spark = SparkConfig(**attributes["spark"])
        if not (spark.remote or "").startswith("{{"):
            assert not list(spark.contradictions())


@each_page
def test_page_can_be_read_in_one_go(page: Path) -> None:
    if page.parent.name == "docs" and "generated" not in page.read_text():
        assert len(page.read_text().split()) < 1500


@each_page
def test_anchors_of_links_exist(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", page.read_text()):
        if not target.startswith("http"):
            text = (page.parent / target).read_text() if target else page.read_text()
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{page.name}: {target}#{anchor}"


def test_example_of_the_page_of_glue_is_what_a_push_writes() -> None:
    graph = Graph()
    add_table(graph, "orders.v1")
    (chain,) = chains_of(graph)
    document = render(chain, PushSettings())
    page = (ROOT / "docs/glue.md").read_text()
    examples = {
        key: value.strip(" `") for key, value in re.findall(r"^\| `([\w.]+)` \|.*\| (.*) \|$", page, re.M)
    }
    (hops,) = _blocks("docs/glue.md", "json")
    block = document.block(2048, examples[KEY_LAST_SYNCED])
    wanted = {**document.parameters, KEY_DIGEST: digest(document.parameters, block)}
    assert json.loads(hops) == json.loads(wanted.pop(KEY_UPSTREAM_CHAIN))
    assert {key: examples[key] for key in wanted} == wanted
    assert _blocks("docs/glue.md", "text") == [f"{block}\n"]


@each_page
def test_modules_that_a_page_names_exist(page: Path) -> None:
    for name in re.findall(r"lineage_bridge_dagster(?:_tests)?(?:/[a-z_]+)+(?:\.py|/)", page.read_text()):
        assert (ROOT / name).exists(), name
