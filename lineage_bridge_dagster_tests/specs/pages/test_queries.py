"""Statements that query a table: names are quoted, and keys stay in the environment."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.specs.pages.queries import (
    QueriedTable,
    QueryPlace,
    athena,
    duckdb,
    pyiceberg,
    spark,
    statements,
)

URI = "https://tableflow.us-east-1.aws.confluent.cloud/iceberg/catalog/organizations/o-1/environments/env-1"
TABLEFLOW = QueryPlace("tableflow", "tableflow_env_1_us_east_1", URI, region="us-east-1")
BUCKETS = QueryPlace(
    "rest",
    "buckets",
    "https://glue.us-east-1.amazonaws.com/iceberg",
    "111122223333:s3tablescatalog/orders-bucket",
    "us-east-1",
    signing_name="glue",
    signing_region="us-east-1",
)
GLUE = QueryPlace("glue", "glue", region="us-east-1", catalog_id="111122223333")
LAKE = QueryPlace("rest", "lake", "https://catalog.example.com/api", scope="PRINCIPAL_ROLE:ALL")
NAMES = ("lkc-1", """odd"na`me's.v1-x""")


@pytest.mark.parametrize("place", [TABLEFLOW, BUCKETS, GLUE, LAKE], ids=lambda place: place.name)
def test_each_engine_gets_the_name_as_it_quotes_it(place: QueryPlace) -> None:
    table = QueriedTable(place, *NAMES)
    assert f'''FROM "{place.name}"."lkc-1"."odd""na`me's.v1-x" LIMIT 10;''' in duckdb(table)
    assert f"FROM `{place.name}`.`lkc-1`.`odd\"na``me\\'s.v1-x` LIMIT 10" in spark(table)
    assert f"load_table(('lkc-1', {NAMES[1]!r}))" in pyiceberg(table)
    for script in (spark(table), pyiceberg(table)):
        compile(script, "page", "exec")


def test_athena_reads_glue_and_s3_tables_and_says_why_it_reads_nothing_else() -> None:
    assert athena(QueriedTable(GLUE, "lkc-1", "o.v1")).startswith('SELECT * FROM "lkc-1"."o.v1" LIMIT 10;')
    in_bucket = 'SELECT * FROM "s3tablescatalog/orders-bucket"."sales"."orders" LIMIT 10;'
    assert athena(QueriedTable(BUCKETS, "sales", "orders")) == in_bucket
    assert "Athena cannot query it: Glue does not have it." in statements(QueriedTable(TABLEFLOW, "a", "b"))
    assert "Glue does not know the catalog lake" in statements(QueriedTable(LAKE, "a", "b"))


def test_keys_are_read_from_the_environment() -> None:
    table = QueriedTable(TABLEFLOW, "lkc-1", "orders", vended=True)
    script = duckdb(table)
    assert "CLIENT_ID getenv('LINEAGE_BRIDGE_TABLEFLOW_API_KEY')" in script
    assert "CLIENT_SECRET getenv('LINEAGE_BRIDGE_TABLEFLOW_API_SECRET')" in script
    assert "OAUTH2_SCOPE 'catalog'" in script
    assert f"OAUTH2_SERVER_URI '{URI}/v1/oauth/tokens'" in script
    for text in (pyiceberg(table), spark(table)):
        assert (
            "os.environ['LINEAGE_BRIDGE_TABLEFLOW_API_KEY'] + ':' "
            "+ os.environ['LINEAGE_BRIDGE_TABLEFLOW_API_SECRET']" in text
        )
    assert "key-of-the-catalog" not in statements(table)
    lake = duckdb(QueriedTable(LAKE, "sales", "orders"))
    assert "CLIENT_ID split_part(getenv('LINEAGE_BRIDGE_CATALOG_LAKE_CREDENTIAL'), ':', 1)" in lake
    assert "OAUTH2_SCOPE 'PRINCIPAL_ROLE:ALL'" in lake


def test_aws_credentials_are_asked_for_where_the_catalog_hands_out_none() -> None:
    own = duckdb(QueriedTable(TABLEFLOW, "lkc-1", "orders"))
    assert "PROVIDER credential_chain" in own
    assert "INSTALL aws" in own
    assert "credential_chain" not in duckdb(QueriedTable(TABLEFLOW, "lkc-1", "orders", vended=True))


def test_an_unknown_account_is_a_placeholder() -> None:
    script = duckdb(QueriedTable(QueryPlace("glue", "glue", region="us-east-1"), "lkc-1", "orders"))
    assert "ATTACH '<account id>' AS \"glue\"" in script
