"""Variables with our prefix that nothing reads: what to use instead, or the nearest name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lineage_bridge_dagster
from lineage_bridge_dagster.config.unread_variables import is_read, unread_variables
from lineage_bridge_dagster_tests.variables import LIST, read_variables

PACKAGE = Path(lineage_bridge_dagster.__file__).parent


@pytest.mark.parametrize(
    ("variable", "instead"),
    [
        ("LINEAGE_BRIDGE_SCHEMA_REGISTRY_ENDPOINT", "LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY"),
        ("LINEAGE_BRIDGE_KSQLDB_ENDPOINT", "LINEAGE_BRIDGE_KSQLDB_API_KEY"),
        ("LINEAGE_BRIDGE_DATABRICKS_TOKEN", "Unity Catalog"),
        ("LINEAGE_BRIDGE_DATABRICKS_USE_NATIVE_LINEAGE", "Unity Catalog"),
        ("LINEAGE_BRIDGE_GCP_PROJECT_ID", "Google"),
        ("LINEAGE_BRIDGE_AWS_DATAZONE_DOMAIN_ID", "DataZone"),
        ("LINEAGE_BRIDGE_AUDIT_LOG_API_KEY", "LINEAGE_BRIDGE_SENSORS"),
        ("LINEAGE_BRIDGE_WATCH_ENV", "LINEAGE_BRIDGE_ENVIRONMENTS"),
        ("LINEAGE_BRIDGE_WATCH_COOLDOWN", "LINEAGE_BRIDGE_SENSOR_INTERVAL_SECONDS"),
        ("LINEAGE_BRIDGE_API_HOST", "dagster"),
        ("LINEAGE_BRIDGE_API_KEY", "dagster"),
        ("LINEAGE_BRIDGE_STORAGE__BACKEND", "DAGSTER_HOME"),
        ("LINEAGE_BRIDGE_EXTRACT_OUTPUT_PATH", "--output"),
    ],
)
def test_variable_of_lineagebridge_has_what_to_use_instead(variable: str, instead: str) -> None:
    (warning,) = unread_variables({variable: "x"})
    assert warning.startswith(f"{variable} is set, but nothing reads it")
    assert instead in warning


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("LINEAGE_BRIDGE_CONFLUENT_CLOUD_APIKEY", "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY"),
        ("LINEAGE_BRIDGE_AWS_REGIONS", "LINEAGE_BRIDGE_AWS_REGION"),
        ("LINEAGE_BRIDGE_PUSH_SQL_MODE", "LINEAGE_BRIDGE_PUSH_SQL"),
        ("LINEAGE_BRIDGE_SENSOR", "LINEAGE_BRIDGE_SENSORS"),
    ],
)
def test_mistyped_variable_has_the_nearest_name(variable: str, nearest: str) -> None:
    (warning,) = unread_variables({variable: "top-secret"})
    assert f"Did you mean {nearest}?" in warning
    assert "top-secret" not in warning


def test_variables_that_are_read_have_no_warning() -> None:
    read = [
        "LINEAGE_BRIDGE_CLUSTER_CREDENTIALS",
        "LINEAGE_BRIDGE_LOG_LEVEL",
        "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123",
        "LINEAGE_BRIDGE_SPARK_MASTER",
        "LINEAGE_BRIDGE_CHECKS",
        "LINEAGE_BRIDGE_CATALOG_TOKEN",
        "AWS_REGION",
        "DATABRICKS_TOKEN",
    ]
    assert unread_variables(dict.fromkeys(read, "x")) == []
    # Some services set all variables, and leave those without a value empty.
    assert unread_variables({"LINEAGE_BRIDGE_API_HOST": ""}) == []


def test_variable_that_a_catalog_setting_names_is_read() -> None:
    variables = {
        "LINEAGE_BRIDGE_CATALOG_TOKEN_VARIABLE": "LINEAGE_BRIDGE_POLARIS",
        "LINEAGE_BRIDGE_POLARIS": "x",
    }
    assert unread_variables(variables) == []


def test_every_variable_in_the_code_is_known() -> None:
    named = {
        name
        for path in PACKAGE.rglob("*")
        if path.suffix in (".py", ".yaml") and path.name != "unread_variables.py"
        for name in re.findall(r"LINEAGE_BRIDGE_[A-Z0-9_]*[A-Z](?![A-Z0-9_*.{}\[])", path.read_text())
    }
    assert len(named) > 40
    assert {name for name in named if not is_read(name, {})} == set()


def test_list_has_the_variables_that_are_read() -> None:
    """If not, `python -m lineage_bridge_dagster_tests.variables` writes the list."""
    assert set(LIST.read_text().split()) == read_variables()


def test_secrets_of_a_catalog_in_the_yaml_are_read() -> None:
    lake = {"LINEAGE_BRIDGE_CATALOG_LAKE_CREDENTIAL": "a:b", "LINEAGE_BRIDGE_CATALOG_LAKE_TOKEN": "t"}
    assert unread_variables(lake) == []
    (warning,) = unread_variables({"LINEAGE_BRIDGE_CATALOG_CREDENTAIL": "a:b"})
    assert "LINEAGE_BRIDGE_CATALOG_CREDENTIAL" in warning
