"""What fields accept, in words and as JSON schema."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lineage_bridge_dagster.assets.settings import FreshnessConfig
from lineage_bridge_dagster.automation.settings import SensorConfig
from lineage_bridge_dagster.catalogs.settings.yaml_sections import CatalogConfig, PushConfig
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.yaml_fields import AwsConfig
from lineage_bridge_dagster.config.yaml_schema import expected
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.confluent.resource import ConfluentConfig


@pytest.mark.parametrize(
    ("section", "field", "words"),
    [
        (ConfluentConfig, "clusters", "a name, or a list of names, for example lkc-abc123, orders"),
        (ConfluentConfig, "timeout_seconds", "a number above 0, for example 30"),
        (AwsConfig, "profile", "a text, in quotes, for example data-platform"),
        (PushConfig, "sql", "full, redacted, hash or none, for example redacted"),
        (PushConfig, "max_concurrency", "a whole number from 1 to 64, for example 8"),
        (PushConfig, "set_parameters", "true or false, for example true"),
        (SensorConfig, "budget_seconds", "a number above 0 and under 60, for example 20"),
        (FreshnessConfig, "warn_minutes", "a number above 0, for example 30"),
        (CatalogConfig, "type", "glue, rest, tableflow, jdbc or hive"),
        (CatalogConfig, "properties", "a mapping"),
    ],
)
def test_accepted_values_are_described_in_words(section: type[YamlSection], field: str, words: str) -> None:
    assert expected(section, field) == words


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        ({"push": {"max_concurrency": 8}}, True),
        ({"push": {"max_concurrency": "8"}}, True),
        ({"push": {"max_concurrency": ""}}, True),
        ({"push": {"max_concurrency": None}}, True),
        ({"push": {"max_concurrency": "{{ env.TABLES }}"}}, True),
        ({"push": "{{ env.PUSH }}"}, True),
        ({"push": {"max_concurrency": "many"}}, False),
        ({"push": {"max_concurrency": 65}}, False),
        ({"push": {"max_concurency": 8}}, False),
        ({"push": 8}, False),
        ({"spark": {"catalog": {"type": "rest", "uri": "https://catalog"}}}, True),
        ({"spark": {"catalog": {"type": "hadoop"}}}, False),
        ({"catalogs": [{"name": "lake", "type": "rest", "uri": "https://catalog"}]}, True),
        ({"catalogs": [{"name": "lake", "type": "hadoop"}]}, False),
        ({"catalogs": [{"name": "lake", "tpye": "rest"}]}, False),
        ({"confluent": {"clusters": ["a", "b"]}}, True),
        ({"confluent": {"clusters": [1]}}, False),
        ({"sensor": {"running": "on"}}, True),
        ({"sensor": {"running": "sometimes"}}, False),
        ({"include": {"examples": "sometimes"}}, False),
        ({"spark": {"namespace": ["a"]}}, False),
        ({"checks": "sometimes"}, False),
    ],
)
def test_schema_accepts_values_and_templates(value: dict[str, Any], accepted: bool) -> None:
    schema = LineageBridgeComponent.model().model_json_schema()
    assert Draft202012Validator(schema).is_valid(value) is accepted
