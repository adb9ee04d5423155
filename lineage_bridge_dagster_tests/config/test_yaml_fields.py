"""The sections of the YAML, and the settings that they are views of."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from lineage_bridge_dagster.automation.settings import SensorConfig
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.catalogs.settings.yaml_sections import CatalogConfig, PushConfig
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.config.yaml_fields import AwsConfig
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.confluent.resource import ConfluentConfig
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.spark.settings import SparkConfig


@pytest.mark.parametrize(
    ("section", "settings", "left_out"),
    [
        (ConfluentConfig, ConfluentSettings, {"credentials", "max_attempts"}),
        (AwsConfig, AwsSettings, set()),
        (PushConfig, PushSettings, set()),
        (CatalogConfig, CatalogSettings, set()),
    ],
)
def test_sections_have_the_settings_fields_with_their_descriptions(
    section: type[YamlSection], settings: type[BaseModel], left_out: set[str]
) -> None:
    assert section.model_fields.keys() == settings.model_fields.keys() - left_out
    for name, field in section.model_fields.items():
        setting = settings.model_fields[name]
        assert (field.description, field.examples) == (setting.description, setting.examples)
        assert field.default is None
    assert section().given() == {}


@pytest.mark.parametrize("empty", [None, "", []])
def test_empty_fields_are_not_given(empty: Any) -> None:
    assert ConfluentConfig(clusters=empty, api_url="https://api").given() == {"api_url": "https://api"}


@pytest.mark.parametrize(("text", "running"), [("on", True), ("off", False), ("", False), (None, False)])
def test_sensors_are_off_unless_turned_on(text: str | None, running: bool) -> None:
    assert SensorConfig(running=text).running is running  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "where", "why"),
    [
        ({"remote": "sc://a", "master": "local[2]"}, ("remote",), "Both spark.remote"),
        ({"remote": "http://a"}, ("remote",), "does not begin with sc://"),
        ({"conf": {"spark.remote": "sc://a/;token=x"}}, ("conf",), "is a secret"),
    ],
)
def test_server_that_cannot_be_used_is_a_contradiction(
    fields: dict[str, Any], where: tuple[str, ...], why: str
) -> None:
    ((path, error),) = SparkConfig(**fields).contradictions()
    assert path == where
    assert why in error.message


def test_server_is_part_of_sparks_configuration() -> None:
    assert list(SparkConfig(remote="sc://a:1", master="").contradictions()) == []
    assert SparkConfig(remote="sc://a:1", conf={"spark.x": 1}).spark_config() == {
        "spark.remote": "sc://a:1",
        "spark.x": 1,
    }


def test_interval_of_zero_is_rejected() -> None:
    with pytest.raises(ValueError, match="above zero"):
        SensorConfig(interval_seconds=0)
