"""What an instance's YAML file sets, as the component reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lineage_bridge_dagster.cli.instance_file import read_instance
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import Settings

TYPE = "lineage_bridge_dagster.component.LineageBridgeComponent"
ATTRIBUTES = {
    "aws": {"region": "{{ env.LINEAGE_BRIDGE_TEST_REGION }}"},
    "push": {"set_description": False},
    "spark": {"lineage_catalog": "lake"},
    "catalogs": [
        {
            "name": "lake",
            "type": "rest",
            "uri": "https://catalog.example.com",
            "warehouse": "{{ env('NOWHERE', 'lake') }}",
            "namespaces": ["sales"],
            "read_only": True,
        }
    ],
}


def write(folder: Path, attributes: object, kind: str = TYPE) -> Path:
    path = folder / "defs.yaml"
    path.write_text(yaml.safe_dump({"type": kind, "attributes": attributes}))
    return path


def test_an_instance_sets_the_same_as_in_dagster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_TEST_REGION", "eu-west-1")
    given = read_instance(write(tmp_path, ATTRIBUTES))
    component = LineageBridgeComponent.resolve_from_dict(ATTRIBUTES)
    assert given == component._settings()._given
    catalogs = Settings.from_env({}, given=given).all_catalogs()
    assert catalogs["lake"].warehouse == "lake"
    assert catalogs.lineage.name == "lake"


def test_the_scaffolded_instance_sets_nothing_of_its_own() -> None:
    shipped = Path(__file__).parents[2] / "lineage_bridge_dagster/defs/confluent_to_glue/defs.yaml"
    given = read_instance(shipped)
    assert not any(fields for group, fields in given.items() if group != "catalogs")


@pytest.mark.parametrize(
    ("attributes", "kind", "message"),
    [
        ({"aws": {"regon": "eu-west-1"}}, TYPE, "Did you mean 'region'?"),
        ({"aws": {"region": "{{ env.NOWHERE }}"}}, TYPE, "NOWHERE is not set"),
        ({}, "other.Component", "no instance of LineageBridgeComponent"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(
    tmp_path: Path, attributes: object, kind: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message.replace("?", r"\?")):
        read_instance(write(tmp_path, attributes, kind))
