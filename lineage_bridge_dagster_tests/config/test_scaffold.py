"""The YAML that `dg scaffold defs` writes has every field, and is valid as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster import ScaffoldRequest

from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.scaffold import InstanceScaffolder, instance_yaml
from lineage_bridge_dagster.config.variables import known_variables
from lineage_bridge_dagster.config.yaml_section import YamlSection, section_of

TYPE = "lineage_bridge_dagster.component.LineageBridgeComponent"
OWN_INSTANCE = Path(__file__).parents[2] / "lineage_bridge_dagster/defs/confluent_to_glue/defs.yaml"

#: Fields that the project's own instance sets differently: it runs Spark on the developer's machine.
LOCAL_SPARK = {("spark", "master"), ("spark", "conf")}


def scaffolded() -> str:
    return instance_yaml(LineageBridgeComponent, TYPE)


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value and path != ("spark", "conf"):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    else:
        yield path, value


def fields(section: type[YamlSection], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name in section.model_fields:
        inner = section_of(section, name)
        if inner is None:
            yield (*path, name)
        else:
            yield from fields(inner, (*path, name))


def test_every_field_is_set_or_shown_in_a_comment() -> None:
    text = scaffolded()
    instance = dict(leaves(yaml.safe_load(text)["attributes"]))
    for path in fields(LineageBridgeComponent):
        assert path in instance or f"# {path[-1]}:" in text, path


def test_every_setting_names_its_variable_unless_it_follows_another_section() -> None:
    text = scaffolded()
    missing = {name for name in known_variables() if name not in text}
    # The endpoint follows `aws.endpoint_url`; `max_attempts` of `confluent` is not a field of the YAML.
    assert missing == {PREFIX + "CATALOG_GLUE_ENDPOINT", PREFIX + "CONFLUENT_MAX_ATTEMPTS"}
    catalog = yaml.safe_load(text)["attributes"]["spark"]["catalog"]
    assert catalog["region"] == ""
    assert "Default: that of aws.region." in text


def test_defaults_are_those_of_the_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    text = scaffolded()
    assert "env('LINEAGE_BRIDGE_SENSORS', 'off')" in text
    assert "env('LINEAGE_BRIDGE_REFRESH_CRON', '*/15 * * * *')" in text
    assert "# Concurrent requests. Default: 8." in text


def test_it_is_valid() -> None:
    LineageBridgeComponent.model().model_validate(yaml.safe_load(scaffolded())["attributes"])


def test_the_projects_own_instance_is_what_is_scaffolded_with_spark_on_this_machine() -> None:
    own = dict(leaves(yaml.safe_load(OWN_INSTANCE.read_text())["attributes"]))
    expected = dict(leaves(yaml.safe_load(scaffolded())["attributes"]))
    assert {path: own[path] for path in own if path not in LOCAL_SPARK} == {
        path: expected[path] for path in expected if path not in LOCAL_SPARK
    }


def test_an_appended_instance_is_a_document_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "defs.yaml"
    path.write_text("type: other.Component\n")
    request: ScaffoldRequest[Any] = ScaffoldRequest(
        type_name=TYPE, target_path=path, scaffold_format="yaml", project_root=None, params=None, append=True
    )
    InstanceScaffolder().scaffold(request)
    first, second = yaml.safe_load_all(path.read_text())
    assert first["type"] == "other.Component"
    assert second == yaml.safe_load(scaffolded())


def test_a_second_instance_gets_the_name_of_its_folder_and_keys_of_its_own(tmp_path: Path) -> None:
    instances = []
    for folder in ("confluent", "eu-west"):
        path = tmp_path / "defs" / folder
        path.mkdir(parents=True)
        request: ScaffoldRequest[Any] = ScaffoldRequest(
            type_name=TYPE, target_path=path, scaffold_format="yaml", project_root=tmp_path, params=None
        )
        InstanceScaffolder().scaffold(request)
        instances.append(yaml.safe_load((path / "defs.yaml").read_text())["attributes"])
    first, second = instances
    assert (first["name"], "translation" in first) == ("", False)
    assert (second["name"], second["translation"]) == ("eu_west", {"key_prefix": "eu_west"})
    assert second["spark"]["namespace"] == "lineage_bridge_eu_west"
    LineageBridgeComponent.model().model_validate(second)


@pytest.mark.parametrize(
    ("project", "defs"),
    [
        ('[tool.dg.project]\nroot_module = "ours"', "src/ours/defs"),
        ('[tool.dg.project]\nroot_module = "ours"', "ours/defs"),
        ('[tool.dg.project]\nroot_module = "ours"\ndefs_module = "ours.assets.all"', "ours/assets/all"),
        ("", "ours/defs"),
    ],
)
def test_instances_outside_the_projects_definitions_do_not_count(
    tmp_path: Path, project: str, defs: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(project)
    package = "lineage_bridge_dagster/defs/confluent_to_glue/defs.yaml"
    for folder in (".venv/lib/python3.12/site-packages", "env", "build/lib", "tests/data"):
        other = tmp_path / folder / package
        other.parent.mkdir(parents=True)
        other.write_text(scaffolded())
    names = []
    for place in ("lineage", "europe/eu"):
        path = tmp_path / defs / place
        path.mkdir(parents=True)
        request: ScaffoldRequest[Any] = ScaffoldRequest(
            type_name=TYPE, target_path=path, scaffold_format="yaml", project_root=tmp_path, params=None
        )
        InstanceScaffolder().scaffold(request)
        names.append(yaml.safe_load((path / "defs.yaml").read_text())["attributes"]["name"])
    assert names == ["", "eu"]
