"""What a wrong YAML instance is told: the file, the line and what to write, wherever a user looks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster import DagsterInstance, Definitions
from dagster._core.storage.defs_state.base import set_defs_state_storage
from dagster.components.testing import create_defs_folder_sandbox

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.embedded.dagster_process import answers, free_port
from lineage_bridge_dagster_tests.assets.world import EAST, World, world
from lineage_bridge_dagster_tests.bad_instance import MISTAKES, TYPE, Mistake, all_at_once, project
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi, eventually

_ERROR = """query { workspaceOrError { ... on Workspace { locationEntries { loadStatus
  locationOrLoadError { __typename ... on PythonError { message causes { message } } } } } } }"""


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    with DagsterInstance.local_temp(str(tmp_path)) as made, set_defs_state_storage(made.defs_state_storage):
        yield made


@contextmanager
def loaded(attributes: dict[str, Any]) -> Iterator[Definitions]:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=LineageBridgeComponent,
            defs_yaml_contents={"type": TYPE, "attributes": attributes},
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, definitions):
            yield definitions


def told(attributes: dict[str, Any]) -> str:
    """The words of the innermost error of loading an instance."""
    with pytest.raises(Exception, match=r"defs\.yaml") as raised, loaded(attributes):
        pass
    error: BaseException = raised.value
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.line)
def test_loading_says_which_line_is_wrong_and_what_to_write(
    instance: DagsterInstance, mistake: Mistake
) -> None:
    text = told(yaml.safe_load(mistake.yaml)["attributes"])
    field = mistake.line.partition(":")[0]
    # The dump of these is one field a line below `attributes`, and below the section where there is one.
    line = 4 if mistake.section else 3
    name = ".".join(("attributes", *([mistake.section] if mistake.section else []), field))
    assert re.search(rf"{re.escape(name)}(\.\w+)? at \S+defs\.yaml:\d+`", text), text
    assert re.search(rf"defs\.yaml:{line - 1}\b|defs\.yaml:{line}\b", text), text
    assert mistake.told in text, text


def dg(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The `dg` command in a project, with nothing of the developer's own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("VIRTUAL_ENV")}
    env |= {"PYTHONWARNINGS": "ignore", "PYTHONPATH": str(folder), "DAGSTER_HOME": "", "NO_COLOR": "1"}
    env["COLUMNS"] = "200"
    command = [str(Path(sys.executable).parent / "dg"), *words]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def test_every_field_may_be_a_template_and_says_what_it_is_for() -> None:
    """A constraint on a field itself would be held against the template's text."""
    model = LineageBridgeComponent.model()
    schema = model.model_json_schema()
    for name, field in LineageBridgeComponent.model_fields.items():
        assert schema["properties"][name]["description"] == field.description
        inner: Any = field.annotation
        if isinstance(inner, type) and issubclass(inner, YamlSection):
            shown = schema["$defs"][f"{inner.__name__}Model"]["properties"]
            for part, held in inner.model_fields.items():
                model.model_validate({name: {part: "{{ env('X', 'a') }}"}})
                assert shown[part]["description"] == held.description


def test_dg_check_yaml_says_of_all_mistakes_at_once_which_line_and_what_to_write(tmp_path: Path) -> None:
    text, at = all_at_once()
    done = dg(project(tmp_path, text), "check", "yaml")
    assert done.returncode != 0, done.stderr
    said = done.stdout.splitlines()
    for line, mistake in at.items():
        field = mistake.line.partition(":")[0]
        # Of an unknown field, one error has its line and another, at its section, the fields there are.
        assert any(f"defs.yaml:{line} - " in each and field in each for each in said), (mistake, said)
        assert mistake.told_by_schema in done.stdout, (mistake, said)


def test_dg_knows_the_component_and_takes_the_projects_own_instance() -> None:
    here = Path(__file__).parents[2]
    listed = dg(here, "list", "components", "--package", "lineage_bridge_dagster", "--json")
    assert TYPE in listed.stdout, listed.stderr
    checked = dg(here, "check", "yaml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_dg_check_defs_and_the_code_locations_page_say_the_line_and_what_to_write(tmp_path: Path) -> None:
    """What passes `dg check yaml`, since only rendering the templates tells."""
    folder = project(
        tmp_path,
        f"type: {TYPE}\nattributes:\n  aws:\n    region: us-east-1\n"
        "    profile: \"{{ env('OUR_PROFILE') }}\"\n",
    )
    place = rf"{re.escape(str(folder))}/ours/defs/lineage_0/defs\.yaml:5 - attributes\.aws\.profile"
    wanted = (
        rf"{place}: The variable OUR_PROFILE is not set\.\n.*\n  -> Set it, as in OUR_PROFILE=data-platform"
    )
    checked = dg(folder, "check", "defs")
    assert checked.returncode != 0
    assert re.search(wanted, checked.stdout + checked.stderr), checked.stdout + checked.stderr
    with webserver(folder) as ui:

        def failure() -> dict[str, Any] | None:
            entry = ui.ask(_ERROR)["workspaceOrError"]["locationEntries"][0]
            return entry["locationOrLoadError"] if entry["loadStatus"] == "LOADED" else None

        error = eventually(failure, 60, "the code location")
    assert error["__typename"] == "PythonError"
    shown = [error["message"], *(cause["message"] for cause in error["causes"])]
    assert any(re.search(wanted, message) for message in shown), shown


@contextmanager
def webserver(folder: Path) -> Iterator[DagsterUi]:
    port = free_port()
    home = folder / "dagster_home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(folder), "DAGSTER_HOME": str(home)}
    command = [sys.executable, "-m", "dagster_webserver", "-m", "ours.definitions", "-h", "127.0.0.1"]
    with subprocess.Popen(
        [*command, "-p", str(port)],
        cwd=folder,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            eventually(lambda: answers(port), 90, "the webserver")
            yield DagsterUi(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            process.wait(30)


@pytest.mark.parametrize("template", ["{{ env.OUR_REGION }}", "{{ env('OUR_REGION') }}"])
def test_a_variable_that_is_not_set_is_named_with_a_good_value(
    instance: DagsterInstance, template: str
) -> None:
    text = told({"aws": {"region": template}})
    assert re.search(r"defs\.yaml:\d+ - attributes\.aws\.region: The variable OUR_REGION is not set", text)
    assert "OUR_REGION=us-east-1" in text


@pytest.mark.parametrize(
    "template",
    [
        "{{ env('OUR_REGION', '') }}",
        "{{ env.OUR_REGION or 'us-east-1' }}",
        "{{ env.LINEAGE_BRIDGE_AWS_REGION }}",
    ],
)
def test_a_variable_with_a_default_or_one_of_the_projects_own_may_be_left_out(
    instance: DagsterInstance, template: str
) -> None:
    with loaded({"aws": {"region": template}}) as definitions:
        assert definitions.sensors


def test_a_slip_in_the_name_of_a_variable_of_ours_is_told(instance: DagsterInstance) -> None:
    text = told({"aws": {"region": "{{ env.LINEAGE_BRIDGE_AWS_REGOIN }}"}})
    assert "Did you mean LINEAGE_BRIDGE_AWS_REGION?" in text


@pytest.mark.parametrize(
    ("section", "field", "value", "remedy"),
    [
        ("sensor", "interval_seconds", "often", "a whole number above 0, for example 10"),
        ("sensor", "refresh_cron", "hourly", "a cron expression of five fields"),
        ("confluent", "api_url", "user:hunter2@host", "a URL with its scheme"),
        ("aws", "region", "us-east1", "an AWS region, for example us-east-1"),
        ("push", "max_removal_share", "lots", "a number from 0 to 1"),
    ],
)
def test_a_variable_that_is_badly_set_is_named_and_what_stands_in_it_is_not_shown(
    instance: DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    section: str,
    field: str,
    value: str,
    remedy: str,
) -> None:
    monkeypatch.setenv("OUR_VALUE", value)
    text = told({section: {field: "{{ env.OUR_VALUE }}"}})
    assert re.search(rf"defs\.yaml:\d+ - attributes\.{section}\.{field}: ", text), text
    assert f"-> Set OUR_VALUE, which the value comes from, to {remedy}" in text
    assert value not in text


def test_an_account_id_in_a_variable_is_no_number(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_CATALOG_ID", "111122223333")
    with loaded({"aws": {"catalog_id": "{{ env.LINEAGE_BRIDGE_AWS_CATALOG_ID }}"}}) as definitions:
        assert (definitions.resources or {})["glue"].catalog_id == "111122223333"


@pytest.mark.parametrize(
    ("translation", "wanted"),
    [
        ({"group_name": "{{ node.cluster_id | "}, "is malformed"),
        ({"group_name": "in_{{ node.clustr_id }}"}, "Did you mean cluster_id?"),
        ({"group_name": "{{ nod.cluster_id }}"}, "Did you mean node?"),
        ({"description": "{{ spec.descripton }}"}, "Did you mean description?"),
        ({"metadata": {"a": {"b": "{{ node.nam }}"}}}, "uses node.nam, which does not exist"),
        ({"owners": ["{{ env.OUR_TEAM }}"]}, "The variable OUR_TEAM is not set"),
    ],
)
def test_a_template_that_can_be_right_for_no_node_is_told_before_there_is_a_state(
    instance: DagsterInstance, translation: dict[str, Any], wanted: str
) -> None:
    text = told({"translation": translation})
    (attribute,) = translation
    assert re.search(rf"defs\.yaml:\d+ - attributes\.translation\.{attribute}", text), text
    assert wanted in text


def odd_one() -> World:
    """A world of which one topic has an attribute less than all others."""
    w = world()
    node = w.graph.nodes[w.topic(EAST, "odd")]
    del node.attributes["partitions_count"]
    return w


@pytest.mark.parametrize(
    ("template", "attribute", "said", "remedy"),
    [
        (
            "{% if node.node_type == 'kafka_topic' %}"
            "g{{ node.attributes['partitions_count'] + 1 }}{% endif %}_",
            "group_name",
            "has no attribute 'partitions_count'",
            "If some nodes lack the value, give a default",
        ),
        (
            "{{ node.qualified_name if node.qualified_name == 'odd' else 'team:data' }}",
            "owners",
            "Invalid owner 'odd'",
            "Write an email address or team:name",
        ),
        (
            "{{ 'not a group' if node.qualified_name == 'odd' else 'a_group' }}",
            "group_name",
            "is not a valid asset group name",
            "Write letters, digits, _ and /",
        ),
        (
            "ours/{{ '/odd' if node.qualified_name == 'odd' else key_part(node.node_id) }}",
            "key",
            "has a part that is empty",
            "Wrap names in key_part",
        ),
    ],
)
def test_a_translation_that_fails_on_one_node_names_the_node_the_template_and_what_to_write(
    instance: DagsterInstance, template: str, attribute: str, said: str, remedy: str
) -> None:
    StateStore.of(instance, "LineageBridgeComponent").store(odd_one().discovery())
    translation = {attribute: [template] if attribute == "owners" else template}
    text = told({"translation": {"kinds": ["kafka"], **translation}})
    assert re.search(rf"defs\.yaml:\d+ - attributes\.translation\.{attribute}: ", text), text
    assert "confluent:kafka_topic:env-abc123:lkc-east1/odd" in text
    assert said in text
    assert f"-> {remedy}" in text


def test_names_that_a_key_can_not_hold_are_made_fit_by_key_part(instance: DagsterInstance) -> None:
    StateStore.of(instance, "LineageBridgeComponent").store(world().discovery())
    with loaded({"translation": {"key": "ours/{{ key_part(node.node_id) }}"}}) as definitions:
        keys = {spec.key.to_user_string() for spec in definitions.resolve_all_asset_specs()}
    assert "ours/external:external_dataset:postgres:||pg1.example:5432|shop.public.orders" in keys
