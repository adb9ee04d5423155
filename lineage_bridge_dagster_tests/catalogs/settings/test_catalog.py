"""The Iceberg catalog's settings and its Spark configuration."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalog_properties import spark_conf
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import Settings


def test_glue_conf_without_endpoints_is_complete() -> None:
    conf = spark_conf(CatalogSettings(warehouse="s3://lake/w", region="eu-west-1"), {})
    assert conf["spark.sql.catalog.glue"] == "org.apache.iceberg.spark.SparkCatalog"
    assert conf["spark.sql.catalog.glue.catalog-impl"] == "org.apache.iceberg.aws.glue.GlueCatalog"
    assert conf["spark.sql.catalog.glue.io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    assert conf["spark.sql.catalog.glue.glue.skip-name-validation"] == "true"
    assert conf["spark.sql.catalog.glue.cache-enabled"] == "false"
    assert conf["spark.sql.catalog.glue.client.region"] == "eu-west-1"
    assert conf["spark.sql.catalog.glue.warehouse"] == "s3://lake/w"
    assert not [key for key in conf if "endpoint" in key or "path-style" in key]


def test_endpoints_come_from_the_environment_unless_configured() -> None:
    env = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:2"}
    conf = spark_conf(CatalogSettings(glue_endpoint="http://127.0.0.1:3"), env)
    assert conf["spark.sql.catalog.glue.glue.endpoint"] == "http://127.0.0.1:3"
    assert conf["spark.sql.catalog.glue.s3.endpoint"] == "http://127.0.0.1:2"
    assert conf["spark.sql.catalog.glue.s3.path-style-access"] == "true"


@pytest.mark.parametrize("kind", ["hadoop", "Hadoop", "in-memory"])
def test_catalog_that_loses_concurrent_commits_is_rejected(kind: str) -> None:
    with pytest.raises(ConfigurationError, match="concurrent commits"):
        CatalogSettings.model_validate({"type": kind})
    with pytest.raises(ConfigurationError, match="concurrent commits"):
        Settings.from_env({"LINEAGE_BRIDGE_CATALOG_TYPE": kind})


def test_rest_catalog_takes_its_secret_only_from_the_environment() -> None:
    config = CatalogSettings(
        name="rest", type="rest", uri="http://127.0.0.1:8181", properties={"token": "s3cr3t"}
    )
    env = {"LINEAGE_BRIDGE_CATALOG_CREDENTIAL": "client:hunter2"}
    assert spark_conf(config, env)["spark.sql.catalog.rest.credential"] == "client:hunter2"
    assert "hunter2" not in repr(config) + str(config.model_dump())
    assert "s3cr3t" not in repr(config)


def test_rest_catalog_without_uri_names_the_variable() -> None:
    with pytest.raises(ConfigurationError, match="LINEAGE_BRIDGE_CATALOG_URI"):
        Settings.from_env({"LINEAGE_BRIDGE_CATALOG_TYPE": "rest"})


def test_malformed_value_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="LINEAGE_BRIDGE_CATALOG_TYPE"):
        Settings.from_env({"LINEAGE_BRIDGE_CATALOG_TYPE": "oracle"})


def test_catalog_name_must_be_valid_in_a_spark_conf_key() -> None:
    with pytest.raises(ConfigurationError, match="letters, digits"):
        CatalogSettings(name="my.catalog")


def test_role_is_assumed_by_icebergs_own_factory() -> None:
    conf = spark_conf(CatalogSettings(role_arn="arn:aws:iam::111122223333:role/r", region="us-east-1"), {})
    assert conf["spark.sql.catalog.glue.client.factory"].endswith("AssumeRoleAwsClientFactory")
    assert conf["spark.sql.catalog.glue.client.assume-role.arn"] == "arn:aws:iam::111122223333:role/r"
    assert conf["spark.sql.catalog.glue.client.assume-role.region"] == "us-east-1"


def test_profile_wins_over_keys_in_the_environment_as_in_boto3() -> None:
    """The default chain of Java's SDK would take the keys."""
    conf = spark_conf(CatalogSettings(profile="data-platform"), {})
    provider = conf["spark.sql.catalog.glue.client.credentials-provider"]
    assert provider == "software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider"
    assert "spark.sql.catalog.glue.client.credentials-provider" not in spark_conf(CatalogSettings(), {})
