"""Several catalogs by name: where their settings come from, and the errors of settings that cannot work."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import Settings

ACCOUNT = "111122223333"
BUCKET = f"{ACCOUNT}:s3tablescatalog/orders"
ENDPOINT = "https://glue.eu-west-1.amazonaws.com/iceberg"
LAKE = {"name": "lake", "type": "rest", "uri": "https://catalog.example.com/api"}


def catalogs(*named: dict[str, Any], env: dict[str, str] | None = None, lineage: str = "") -> Catalogs:
    """The catalogs that a YAML instance with these, and an environment, define."""
    given = {"catalogs": {"named": {each["name"]: each for each in named}, "lineage": lineage}}
    return Settings.from_env(env or {}, given=given).all_catalogs()


def iceberg(**changes: str) -> dict[str, str]:
    """The variables of the catalog s3tables, with changes; an empty one counts as unset."""
    variables = {"ICEBERG_REST_URI": ENDPOINT, "ICEBERG_WAREHOUSE": BUCKET, "AWS_REGION": "eu-west-1"}
    return variables | changes


def test_default_catalog_is_the_first_and_that_of_the_lineage_tables() -> None:
    found = catalogs(LAKE)
    assert list(found) == ["glue", "lake"]
    assert found.default is found.lineage is found["glue"]
    assert catalogs(LAKE, lineage="lake").lineage.name == "lake"
    assert catalogs(LAKE, env={"LINEAGE_BRIDGE_LINEAGE_CATALOG": "lake"}).lineage.name == "lake"


def test_unknown_catalog_names_those_that_exist() -> None:
    with pytest.raises(ConfigurationError, match=r"no catalog 'laek'\. The catalogs are glue, lake"):
        catalogs(LAKE)["laek"]
    with pytest.raises(ConfigurationError, match="The catalogs are glue"):
        catalogs(lineage="lake")


def test_two_catalogs_cannot_share_a_name() -> None:
    with pytest.raises(ConfigurationError, match="Two catalogs have the name 'glue'"):
        catalogs({"name": "glue", "type": "glue"})


def test_spark_gets_every_catalog() -> None:
    conf = catalogs(LAKE, {"name": "archive", "type": "glue", "catalog_id": ACCOUNT}).spark_conf()
    assert conf["spark.sql.catalog.glue.catalog-impl"] == "org.apache.iceberg.aws.glue.GlueCatalog"
    assert conf["spark.sql.catalog.lake.type"] == "rest"
    assert conf["spark.sql.catalog.lake.uri"] == LAKE["uri"]
    assert conf["spark.sql.catalog.archive.glue.id"] == ACCOUNT


def test_spark_and_pyiceberg_sign_for_the_same_service_and_region() -> None:
    found = catalogs(env=iceberg(AWS_ENDPOINT_URL_S3="http://127.0.0.1:1"))
    expected = {
        "uri": ENDPOINT,
        "warehouse": BUCKET,
        "rest.sigv4-enabled": "true",
        "rest.signing-name": "glue",
        "rest.signing-region": "eu-west-1",
        "client.region": "eu-west-1",
        "s3.endpoint": "http://127.0.0.1:1",
    }
    spark = {
        key.removeprefix("spark.sql.catalog.s3tables."): text for key, text in found.spark_conf().items()
    }
    assert spark.items() >= {**expected, "type": "rest", "s3.path-style-access": "true"}.items()
    pyiceberg = found.pyiceberg_properties("s3tables")
    assert pyiceberg.items() >= {**expected, "type": "rest", "s3.force-virtual-addressing": "false"}.items()
    assert not {"credential", "token"} & spark.keys() | {"credential", "token"} & pyiceberg.keys()


def test_both_get_oauth2_tokens_from_the_same_server() -> None:
    env = {"LINEAGE_BRIDGE_CATALOG_LAKE_CREDENTIAL": "key:hunter2"}
    found = catalogs(LAKE, env=env)
    expected = {
        "credential": "key:hunter2",
        "scope": "catalog",
        "oauth2-server-uri": "https://catalog.example.com/api/v1/oauth/tokens",
    }
    assert found.pyiceberg_properties("lake").items() >= expected.items()
    assert (
        found.spark_conf().items()
        >= {f"spark.sql.catalog.lake.{key}": text for key, text in expected.items()}.items()
    )
    assert "hunter2" not in repr(found) + repr(found["lake"])


def test_a_secret_is_sent_to_its_own_catalog_alone() -> None:
    other = {"name": "other", "type": "rest", "uri": "https://other.example.com"}
    found = catalogs(LAKE, other, env={"LINEAGE_BRIDGE_CATALOG_CREDENTIAL": "default:secret"})
    assert "credential" not in found.pyiceberg_properties("lake")
    assert "credential" not in found.pyiceberg_properties("other")


def test_secret_that_the_settings_name_must_be_set() -> None:
    lake = {**LAKE, "credential_variable": "LAKE_LOGIN"}
    assert catalogs(lake, env={"LAKE_LOGIN": "a:b"}).pyiceberg_properties("lake")["credential"] == "a:b"
    with pytest.raises(ConfigurationError, match="LAKE_LOGIN"):
        catalogs(lake).pyiceberg_properties("lake")


def test_spark_goes_without_a_catalog_whose_secret_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    lake = {**LAKE, "credential_variable": "LAKE_LOGIN"}
    with caplog.at_level(logging.WARNING):
        conf = catalogs(lake).spark_conf()
    assert not [key for key in conf if key.startswith("spark.sql.catalog.lake")]
    assert "LAKE_LOGIN" in caplog.text
    with pytest.raises(ConfigurationError, match="LAKE_LOGIN"):
        catalogs(lake, lineage="lake").spark_conf()


def test_database_is_known_to_both_by_its_own_url() -> None:
    database = {
        "name": "pg",
        "type": "jdbc",
        "uri": "jdbc:postgresql://db:5432/iceberg",
        "warehouse": "s3://b/w",
    }
    found = catalogs(database, env={"LINEAGE_BRIDGE_CATALOG_PG_CREDENTIAL": "me:p@ss"})
    conf = found.spark_conf()
    assert conf["spark.sql.catalog.pg.uri"] == "jdbc:postgresql://db:5432/iceberg"
    assert conf["spark.sql.catalog.pg.jdbc.user"] == "me"
    assert conf["spark.sql.catalog.pg.jdbc.password"] == "p@ss"
    properties = found.pyiceberg_properties("pg")
    assert (properties["type"], properties["uri"]) == ("sql", "postgresql://me:p%40ss@db:5432/iceberg")


def test_unsafe_type_is_refused_anywhere() -> None:
    with pytest.raises(ConfigurationError, match="concurrent commits"):
        catalogs({"name": "files", "type": "hadoop"})


def test_malformed_field_is_named_with_its_catalog() -> None:
    with pytest.raises(ConfigurationError, match=r"catalogs\.lake\.type is wrong") as raised:
        catalogs({"name": "lake", "type": "oracle"})
    assert "the catalog lake" in raised.value.hint


class TestVariables:
    def test_they_define_a_catalog(self) -> None:
        found = catalogs(env=iceberg(ICEBERG_NAMESPACE="sales, orders"))["s3tables"]
        assert (found.type, found.uri, found.warehouse) == ("rest", ENDPOINT, BUCKET)
        assert found.namespaces == ["sales", "orders"]
        assert (found.signing_name, found.signing_region, found.region) == ("glue", "eu-west-1", "eu-west-1")

    def test_the_warehouse_and_the_region_are_enough(self) -> None:
        assert catalogs(env=iceberg(ICEBERG_REST_URI=""))["s3tables"].uri == ENDPOINT

    def test_the_yaml_takes_precedence_field_by_field(self) -> None:
        found = catalogs({"name": "s3tables", "namespaces": ["own"]}, env=iceberg(ICEBERG_NAMESPACE="sales"))
        assert found["s3tables"].namespaces == ["own"]
        assert found["s3tables"].warehouse == BUCKET

    def test_a_namespace_alone_defines_nothing(self) -> None:
        assert list(catalogs(env={"ICEBERG_NAMESPACE": "sales"})) == ["glue"]

    @pytest.mark.parametrize("off", ["false", "False", "off", "0"])
    def test_disabled_catalog_is_gone_and_all_else_stays(self, off: str) -> None:
        """Nothing about it is checked either: the setting that is rolled back may be the wrong one."""
        env = iceberg(ICEBERG_ENABLED=off, ICEBERG_WAREHOUSE="s3://wrong")
        found = catalogs(LAKE, {"name": "s3tables"}, env=env)
        assert list(found) == ["glue", "lake"]
        assert found.spark_conf() == catalogs(LAKE, env={"AWS_REGION": "eu-west-1"}).spark_conf()
        with pytest.raises(ConfigurationError, match="ICEBERG_ENABLED"):
            found["s3tables"]

    def test_enabled_is_true_or_false(self) -> None:
        assert "s3tables" in catalogs(env=iceberg(ICEBERG_ENABLED="true"))
        with pytest.raises(ConfigurationError, match="ICEBERG_ENABLED"):
            catalogs(env=iceberg(ICEBERG_ENABLED="maybe"))

    def test_they_do_not_touch_the_other_groups(self) -> None:
        assert Settings.from_env(iceberg(ICEBERG_WAREHOUSE="s3://wrong"), groups=["push"]).push.sql


class TestGluesEndpoint:
    @pytest.mark.parametrize(
        ("changes", "message", "remedy"),
        [
            (
                {"ICEBERG_WAREHOUSE": "s3://orders/w"},
                "not a location such as s3://orders/w",
                f"{ACCOUNT}:s3tabl",
            ),
            (
                {"ICEBERG_REST_URI": "http://127.0.0.1:1/iceberg", "ICEBERG_WAREHOUSE": "s3://orders"},
                "not a location such as s3://orders",
                "ICEBERG_WAREHOUSE",
            ),
            ({"ICEBERG_WAREHOUSE": ""}, "is empty", f"warehouse (ICEBERG_WAREHOUSE) as {ACCOUNT}"),
            (
                {"ICEBERG_WAREHOUSE": "s3tablescatalog/orders"},
                "the id of an account",
                f"{ACCOUNT}:s3tablescatalog",
            ),
            (
                {"ICEBERG_WAREHOUSE": f"arn:aws:s3tables:eu-west-1:{ACCOUNT}:bucket/orders"},
                "the ARN of a table bucket",
                f"as {BUCKET}.",
            ),
            ({"ICEBERG_WAREHOUSE": "{account}:s3tablescatalog/b"}, "placeholder {account}", "in place of"),
            (
                {"ICEBERG_REST_URI": "https://glue.<region>.amazonaws.com/iceberg"},
                "placeholder <region>",
                "in pl",
            ),
            ({"ICEBERG_REST_URI": "https://glue.amazonaws.com/iceberg"}, "no AWS region", "glue.us-east-1."),
            ({"ICEBERG_REST_URI": "https://glue.eu-west-1.amazonaws.com"}, "below /iceberg", ENDPOINT),
            ({"ICEBERG_REST_URI": "glue.eu-west-1.amazonaws.com"}, "not a URL", "https://glue.us-east-1"),
            (
                {"ICEBERG_REST_URI": "http://127.0.0.1:1/iceberg", "AWS_REGION": ""},
                "no AWS region",
                "AWS_REGION",
            ),
        ],
    )
    def test_wrong_variable_says_what_to_write(
        self, changes: dict[str, str], message: str, remedy: str
    ) -> None:
        with pytest.raises(ConfigurationError) as raised:
            catalogs(env=iceberg(**changes))
        assert message in raised.value.message
        assert remedy in raised.value.hint

    @pytest.mark.parametrize("uri", [ENDPOINT, "http://127.0.0.1:1/iceberg"])
    def test_signing_for_another_service_is_refused(self, uri: str) -> None:
        catalog = {"name": "b", "type": "rest", "uri": uri, "warehouse": BUCKET, "signing_name": "s3tables"}
        with pytest.raises(ConfigurationError, match="signed for s3tables") as raised:
            catalogs(catalog, env={"AWS_REGION": "eu-west-1"})
        assert "signing_name: glue" in raised.value.hint

    @pytest.mark.parametrize("field", ["region", "signing_region"])
    def test_another_region_than_that_of_the_endpoint_is_refused(self, field: str) -> None:
        catalog = {"name": "b", "type": "rest", "uri": ENDPOINT, "warehouse": ACCOUNT, field: "us-east-1"}
        with pytest.raises(ConfigurationError, match=f"eu-west-1, and its {field} is us-east-1"):
            catalogs(catalog)

    def test_the_region_of_the_endpoint_wins_over_that_of_the_account(self) -> None:
        catalog = {"name": "b", "type": "rest", "uri": ENDPOINT, "warehouse": ACCOUNT}
        found = catalogs(catalog, env={"AWS_REGION": "us-east-1"})["b"]
        assert (found.region, found.signing_region) == ("eu-west-1", "eu-west-1")

    def test_a_private_endpoint_is_told_by_its_host_and_a_proxy_by_the_warehouse(self) -> None:
        for uri in ("https://vpce-0abc.glue.eu-west-1.vpce.amazonaws.com/iceberg", "https://proxy/any"):
            catalog = {"name": "b", "type": "rest", "uri": uri, "warehouse": BUCKET}
            assert catalogs(catalog, env={"AWS_REGION": "eu-west-1"})["b"].signing_name == "glue"

    def test_the_endpoint_of_s3_tables_takes_the_arn_and_its_own_service(self) -> None:
        catalog = {"name": "b", "type": "rest", "uri": "https://s3tables.eu-west-1.amazonaws.com/iceberg"}
        arn = f"arn:aws:s3tables:eu-west-1:{ACCOUNT}:bucket/orders"
        assert catalogs({**catalog, "warehouse": arn})["b"].signing_name == "s3tables"
        with pytest.raises(ConfigurationError, match="not the ARN of a table bucket"):
            catalogs({**catalog, "warehouse": BUCKET})

    def test_spark_is_not_given_a_catalog_that_it_would_sign_for_with_another_identity(self) -> None:
        found = catalogs(env=iceberg(LINEAGE_BRIDGE_AWS_ROLE_ARN=f"arn:aws:iam::{ACCOUNT}:role/lineage"))
        assert not [key for key in found.spark_conf() if "s3tables" in key]
        with pytest.raises(ConfigurationError, match="cannot sign requests") as raised:
            found.spark_conf_of("s3tables")
        assert "profile" in raised.value.hint
