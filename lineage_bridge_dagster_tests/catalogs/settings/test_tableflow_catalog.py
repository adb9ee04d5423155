"""Tableflow's own catalogs: where they are, under which names, and who gets the key."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.config.unread_variables import is_read
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import Settings

US = TableflowPlace("5b2c9a1e-7d43", "env-a1", "AWS", "us-east-1")
EU = TableflowPlace("5b2c9a1e-7d43", "env-b2", "AWS", "eu-west-1")
KEY = {"LINEAGE_BRIDGE_TABLEFLOW_API_KEY": "TFKEY", "LINEAGE_BRIDGE_TABLEFLOW_API_SECRET": "hunter2"}
ENTRY = {"type": "tableflow"}
OF_US = (
    "https://tableflow.us-east-1.aws.confluent.cloud/iceberg/catalog/organizations/5b2c9a1e-7d43"
    "/environments/env-a1"
)


def catalogs(*places: TableflowPlace, env: Mapping[str, str] = KEY, **entry: str) -> Catalogs:
    named = {"named": {"tableflow": {**ENTRY, **entry}}}
    return Settings.from_env(dict(env), given={"catalogs": named}).all_catalogs(places)


def test_one_entry_stands_for_the_catalogs_of_all_places() -> None:
    found = catalogs(EU, US)
    assert list(found) == ["glue", "tableflow_env_a1_us_east_1", "tableflow_env_b2_eu_west_1"]
    assert found.tableflow == {US: "tableflow_env_a1_us_east_1", EU: "tableflow_env_b2_eu_west_1"}
    assert found["tableflow_env_a1_us_east_1"].uri == OF_US
    assert found["tableflow_env_b2_eu_west_1"].region == "eu-west-1"
    assert list(catalogs(US)) == ["glue", "tableflow_env_a1_us_east_1"]


@pytest.mark.parametrize(
    ("value", "uri"),
    [
        ("true", OF_US),
        ("https://tableflow.example.com", f"https://tableflow.example.com{OF_US.partition('.cloud')[2]}"),
        ("false", None),
        ("", None),
    ],
)
def test_a_variable_turns_it_on_without_yaml(value: str, uri: str | None) -> None:
    variables = {**KEY, "LINEAGE_BRIDGE_TABLEFLOW_CATALOG": value}
    found = Settings.from_env(variables).all_catalogs([US])
    assert [each.uri for each in found.values() if each.type == "tableflow"] == ([uri] if uri else [])
    assert is_read("LINEAGE_BRIDGE_TABLEFLOW_CATALOG", variables)


def test_the_address_of_one_catalog_gives_it_a_name_of_its_own() -> None:
    found = catalogs(US, EU, uri=OF_US)
    assert list(found) == ["glue", "tableflow"]
    assert found.tableflow == {US: "tableflow"}


def test_spark_and_pyiceberg_get_tokens_by_the_tableflow_key_and_the_catalog_is_read_only() -> None:
    found = catalogs(US)
    name = found.tableflow[US]
    properties = found.pyiceberg_properties(name)
    conf = found.spark_conf()
    for key, value in {
        "type": "rest",
        "uri": OF_US,
        "credential": "TFKEY:hunter2",
        "scope": "catalog",
        "oauth2-server-uri": f"{OF_US}/v1/oauth/tokens",
    }.items():
        assert properties[key] == conf[f"spark.sql.catalog.{name}.{key}"] == value
    with pytest.raises(ConfigurationError, match="read-only"):
        found.writable(name)
    assert "hunter2" not in repr(found[name])


def test_the_key_of_an_environment_comes_first() -> None:
    env = {
        **KEY,
        "LINEAGE_BRIDGE_TABLEFLOW_API_KEY_ENV_A1": "A1",
        "LINEAGE_BRIDGE_TABLEFLOW_API_SECRET_ENV_A1": "s",
    }
    found = catalogs(US, EU, env=env)
    credentials = [found.pyiceberg_properties(found.tableflow[place])["credential"] for place in (US, EU)]
    assert credentials == ["A1:s", "TFKEY:hunter2"]


def test_without_a_tableflow_key_the_error_names_the_variables_and_spark_goes_without() -> None:
    cloud = {"LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY": "C", "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET": "s"}
    found = catalogs(US, env=cloud)
    with pytest.raises(ConfigurationError, match="takes a Tableflow API key") as raised:
        found.pyiceberg_properties(found.tableflow[US])
    assert "LINEAGE_BRIDGE_TABLEFLOW_API_KEY" in raised.value.hint
    assert not any("tableflow" in key for key in found.spark_conf())


@pytest.mark.parametrize(
    "part", ["evil.example/#", "evil.example", "us-east-1@evil.example", "", "a/../b", "{0}"]
)
@pytest.mark.parametrize("field", TableflowPlace._fields)
def test_an_answer_of_an_api_cannot_name_another_host(field: str, part: str) -> None:
    found = catalogs(US._replace(**{field: part}))
    assert list(found) == ["glue"]


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("http://tableflow.us-east-1.aws.confluent.cloud", "not encrypted"),
        ("http://tableflow.{region}.example.com", "not encrypted"),
        ("https://user:password@tableflow.example.com", "not a URL"),
        ("https://tableflow.{zone}.example.com", "not a URL"),
        ("tableflow.example.com", "not a URL"),
    ],
)
def test_an_address_that_would_expose_the_key_is_refused(uri: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        catalogs(US, uri=uri)


def test_the_default_catalog_cannot_be_tableflows() -> None:
    with pytest.raises(ConfigurationError, match="default"):
        Settings.from_env(KEY, given={"catalog": {"type": "tableflow"}}).all_catalogs()
