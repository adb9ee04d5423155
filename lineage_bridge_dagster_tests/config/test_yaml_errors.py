"""Errors of a wrong YAML instance: the file, the line and what to write, wherever a user sees them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster import DagsterInstance

from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster_tests.bad_instance import (
    MISTAKES,
    TYPE,
    Mistake,
    combined_mistakes,
    load_error,
    loaded,
    project,
)
from lineage_bridge_dagster_tests.dagster_ui import eventually, webserver

ENDPOINT = "https://glue.eu-west-1.amazonaws.com/iceberg"

_ERROR = """query { workspaceOrError { ... on Workspace { locationEntries { loadStatus
  locationOrLoadError { __typename ... on PythonError { message causes { message } } } } } } }"""


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.line)
def test_load_error_names_the_line_and_what_to_write(instance: DagsterInstance, mistake: Mistake) -> None:
    text = load_error(yaml.safe_load(mistake.yaml)["attributes"])
    field = mistake.line.partition(":")[0]
    # The field is one line below `attributes`, or one below its section.
    line = 4 if mistake.section else 3
    name = ".".join(("attributes", *([mistake.section] if mistake.section else []), field))
    assert re.search(rf"{re.escape(name)}(\.\w+)? at \S+defs\.yaml:\d+`", text), text
    assert re.search(rf"defs\.yaml:{line - 1}\b|defs\.yaml:{line}\b", text), text
    assert mistake.error in text, text


def dg(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `dg` in a project, without the developer's own environment."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("VIRTUAL_ENV")}
    env |= {"PYTHONWARNINGS": "ignore", "PYTHONPATH": str(folder), "DAGSTER_HOME": "", "NO_COLOR": "1"}
    env["COLUMNS"] = "200"
    command = [str(Path(sys.executable).parent / "dg"), *arguments]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def test_every_field_accepts_a_template_and_has_a_description() -> None:
    """Bounds on a field itself would apply to the template's text."""
    model = LineageBridgeComponent.model()
    schema = model.model_json_schema()
    for name, field in LineageBridgeComponent.model_fields.items():
        assert schema["properties"][name]["description"] == field.description
        inner: Any = field.annotation
        if isinstance(inner, type) and issubclass(inner, YamlSection):
            shown = schema["$defs"][f"{inner.__name__}Model"]["properties"]
            for part, inner_field in inner.model_fields.items():
                model.model_validate({name: {part: "{{ env('X', 'a') }}"}})
                assert shown[part]["description"] == inner_field.description


def test_dg_check_yaml_reports_all_mistakes_with_line_and_remedy(tmp_path: Path) -> None:
    text, at = combined_mistakes()
    done = dg(project(tmp_path, text), "check", "yaml")
    assert done.returncode != 0, done.stderr
    lines = done.stdout.splitlines()
    for line, mistake in at.items():
        field = mistake.line.partition(":")[0]
        # For an unknown field, one error has its line and another, at its section, lists the fields.
        assert any(f"defs.yaml:{line} - " in each and field in each for each in lines), (mistake, lines)
        assert mistake.schema_error in done.stdout, (mistake, lines)


def test_dg_lists_the_component_and_accepts_the_projects_own_instance() -> None:
    here = Path(__file__).parents[2]
    listed = dg(here, "list", "components", "--package", "lineage_bridge_dagster", "--json")
    assert TYPE in listed.stdout, listed.stderr
    checked = dg(here, "check", "yaml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_dg_check_defs_and_the_ui_name_the_line_and_what_to_write(tmp_path: Path) -> None:
    """An error that only rendering the templates finds, so it passes `dg check yaml`."""
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
    with webserver(folder / "dagster_home", "-m", "ours.definitions", folder=folder) as ui:

        def failure() -> dict[str, Any] | None:
            entry = ui.query(_ERROR)["workspaceOrError"]["locationEntries"][0]
            return entry["locationOrLoadError"] if entry["loadStatus"] == "LOADED" else None

        error = eventually(failure, 60, "the code location")
    assert error["__typename"] == "PythonError"
    shown = [error["message"], *(cause["message"] for cause in error["causes"])]
    assert any(re.search(wanted, message) for message in shown), shown


@pytest.mark.parametrize("template", ["{{ env.OUR_REGION }}", "{{ env('OUR_REGION') }}"])
def test_unset_variable_is_named_with_an_example(instance: DagsterInstance, template: str) -> None:
    text = load_error({"aws": {"region": template}})
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
def test_variable_with_a_default_or_of_this_project_may_be_unset(
    instance: DagsterInstance, template: str
) -> None:
    with loaded({"aws": {"region": template}}) as definitions:
        assert definitions.sensors


def test_misspelled_variable_of_this_project_gets_a_suggestion(instance: DagsterInstance) -> None:
    text = load_error({"aws": {"region": "{{ env.LINEAGE_BRIDGE_AWS_REGOIN }}"}})
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
def test_malformed_variable_is_named_without_its_value(
    instance: DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    section: str,
    field: str,
    value: str,
    remedy: str,
) -> None:
    monkeypatch.setenv("OUR_VALUE", value)
    text = load_error({section: {field: "{{ env.OUR_VALUE }}"}})
    assert re.search(rf"defs\.yaml:\d+ - attributes\.{section}\.{field}: ", text), text
    assert f"-> Set OUR_VALUE, which the value comes from, to {remedy}" in text
    assert value not in text


def test_account_id_in_a_variable_stays_text(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_CATALOG_ID", "111122223333")
    with loaded({"aws": {"catalog_id": "{{ env.LINEAGE_BRIDGE_AWS_CATALOG_ID }}"}}) as definitions:
        assert (definitions.resources or {})["glue"].catalog_id == "111122223333"


@pytest.mark.parametrize(
    ("catalogs", "place", "problem", "remedy"),
    [
        ([{"type": "rest"}], r"catalogs\.0", "has no name", "name: lake"),
        ([{"name": "lake"}, {"name": "lake"}], r"catalogs\.1\.name", "Another catalog", "another name"),
        ([{"name": "glue"}], r"catalogs\.0\.name", "spark.catalog has glue", "another name"),
        ([{"name": "lake", "type": "rest"}], r"catalogs\.0", "has no uri", "Set its uri"),
        (
            [{"name": "lake"}, {"name": "b", "type": "rest", "uri": ENDPOINT, "warehouse": "s3://b"}],
            r"catalogs\.1",
            "not a location such as s3://b",
            "111122223333:s3tablescatalog/bucket",
        ),
    ],
)
def test_catalogs_that_cannot_work_are_named_with_their_line(
    instance: DagsterInstance, catalogs: list[dict[str, Any]], place: str, problem: str, remedy: str
) -> None:
    text = load_error({"catalogs": catalogs})
    assert re.search(rf"defs\.yaml:\d+ - attributes\.{place}: ", text), text
    assert problem in text
    assert remedy in text


@pytest.mark.parametrize(
    ("catalogs", "place", "remedy"),
    [
        ([{"name": "lake", "type": "hadoop"}], r"catalogs\.0\.type", "glue, rest, tableflow, jdbc or hive"),
        ([{"name": "lake", "uir": "https://c"}], r"catalogs\.0\.uir", "Did you mean 'uri'?"),
        (["lake"], r"catalogs\.0", "a mapping of name, type"),
        ({"lake": {}}, "catalogs", "a list"),
    ],
)
def test_mistakes_in_a_list_of_catalogs_are_named_with_their_line(
    instance: DagsterInstance, catalogs: Any, place: str, remedy: str
) -> None:
    text = load_error({"catalogs": catalogs})
    assert re.search(rf"attributes\.{place} at \S+defs\.yaml:\d+", text), text
    assert remedy in text


def test_fields_of_a_catalog_may_be_templates(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_URI", "https://catalog.example.com")
    lake = {"name": "lake", "type": "rest", "uri": "{{ env('LAKE_URI') }}", "read_only": "on"}
    with loaded({"catalogs": [lake], "spark": {"lineage_catalog": ""}}) as definitions:
        found = (definitions.resources or {})["spark"].all_catalogs["lake"]
    assert (found.uri, found.read_only) == ("https://catalog.example.com", True)


def test_lineage_tables_in_an_unknown_catalog_are_named_with_their_line(instance: DagsterInstance) -> None:
    lake = {"name": "lake", "type": "rest", "uri": "https://catalog.example.com"}
    text = load_error({"catalogs": [lake], "spark": {"lineage_catalog": "laek"}})
    assert re.search(r"defs\.yaml:\d+ - attributes\.spark\.lineage_catalog: There is no catalog laek", text)
    assert "Write one of glue, lake, s3tables" in text


def test_instance_that_is_in_no_file_is_loaded() -> None:
    component = LineageBridgeComponent.resolve_from_yaml("aws: {region: eu-west-1}")
    assert component.aws.region == "eu-west-1"
