"""The statements of the pages of tables, run as they are shown, in DuckDB and PyIceberg.

Where a statement does not name an endpoint, the environment does: `AWS_ENDPOINT_URL`, which PyIceberg's
clients of AWS read.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.rest import RestCatalog

from lineage_bridge_dagster.config.glue_iceberg import endpoint_of
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.embedded.rest.server import S3_TABLES, TABLEFLOW
from lineage_bridge_dagster.specs.pages.queries import QueriedTable, QueryPlace, duckdb, pyiceberg
from lineage_bridge_dagster_tests.catalogs.rest.tables import BUCKET, Bucket
from lineage_bridge_dagster_tests.duckdb_cli import run_script
from lineage_bridge_dagster_tests.proxy import ProxyToGlue

pytestmark = pytest.mark.xdist_group("rest")

KEY = world.api_key("tableflow")
ROWS = pa.table({"id": [1, 2], "country": ["de", "fr"]})
REGION = "us-east-1"


@pytest.fixture(autouse=True)
def environment(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL": bucket.aws.endpoint_url,
        "LINEAGE_BRIDGE_TABLEFLOW_API_KEY": KEY.key,
        "LINEAGE_BRIDGE_TABLEFLOW_API_SECRET": KEY.secret,
    }.items():
        monkeypatch.setenv(name, value)


def filled(catalog: Catalog, namespace: str, table: str, **options: str) -> None:
    catalog.create_namespace(namespace)
    catalog.create_table((namespace, table), ROWS.schema, **options).append(ROWS)


@pytest.fixture
def tableflow(bucket: Bucket) -> Iterator[QueriedTable]:
    """A table in Confluent's storage, whose files no credentials of ours open."""
    namespace = f"lkc-{uuid.uuid4().hex[:8]}"
    writer = RestCatalog(
        "writer", uri=bucket.rest.backend(TABLEFLOW), **{"s3.endpoint": bucket.aws.endpoint_url}
    )
    filled(writer, namespace, "it's.orders-v1")
    place = QueryPlace("tableflow", "tableflow_env_a1_us_east_1", bucket.rest.tableflow_url, region=REGION)
    yield QueriedTable(place, namespace, "it's.orders-v1", vended=True)
    writer.drop_table((namespace, "it's.orders-v1"))
    writer.drop_namespace(namespace)


@pytest.fixture
def s3_tables(bucket: Bucket) -> Iterator[QueriedTable]:
    namespace = f"ns_{uuid.uuid4().hex[:8]}"
    writer = RestCatalog(
        "writer", uri=bucket.rest.backend(S3_TABLES), **{"s3.endpoint": bucket.aws.endpoint_url}
    )
    filled(writer, namespace, "orders_v1")
    place = QueryPlace(
        "rest",
        "buckets",
        bucket.rest.glue_url,
        bucket.rest.warehouse,
        REGION,
        signing_name="glue",
        signing_region=REGION,
        s3_endpoint=bucket.aws.endpoint_url,
    )
    yield QueriedTable(place, namespace, "orders_v1")
    writer.drop_table((namespace, "orders_v1"))


@pytest.fixture
def glue(bucket: Bucket) -> QueriedTable:
    namespace = f"lkc-{uuid.uuid4().hex[:8]}"
    endpoint = bucket.aws.endpoint_url
    catalog = load_catalog("glue", type="glue", **{"client.region": REGION, "s3.endpoint": endpoint})
    filled(catalog, namespace, "orders.v1-x", location=f"s3://{BUCKET}/{namespace}")
    place = QueryPlace(
        "glue", "glue", region=REGION, catalog_id=bucket.aws.account_id, s3_endpoint=bucket.aws.endpoint_url
    )
    return QueriedTable(place, namespace, "orders.v1-x")


def test_duckdb_reads_tableflows_table_with_the_credentials_that_the_catalog_hands_out(
    tableflow: QueriedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    script = duckdb(tableflow)
    assert "aws" not in re.findall(r"INSTALL (\w+);", script)
    assert sorted(run_script(script)) == [(1, "de"), (2, "fr")]


def test_duckdb_reads_tableflows_table_in_a_bucket_of_ones_own(
    bucket: Bucket, tableflow: QueriedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(bucket.rest.vended):
        monkeypatch.delitem(bucket.rest.vended, name)
    place = tableflow.catalog._replace(s3_endpoint=bucket.aws.endpoint_url)
    script = duckdb(tableflow._replace(catalog=place, vended=False))
    assert sorted(run_script(script)) == [(1, "de"), (2, "fr")]


@pytest.mark.parametrize("name", ["s3_tables", "glue"])
def test_duckdb_reads_tables_through_glues_endpoint(
    bucket: Bucket, name: str, request: pytest.FixtureRequest
) -> None:
    """DuckDB takes the service to sign for from the host, so that it must ask for Glue's own."""
    table: QueriedTable = request.getfixturevalue(name)
    uri = endpoint_of(REGION) if name == "s3_tables" else ""
    place = table.catalog._replace(s3_endpoint=bucket.aws.endpoint_url, uri=uri)
    script = duckdb(table._replace(catalog=place))
    assert f"ENDPOINT '{endpoint_of(REGION)}'" in script
    with ProxyToGlue(bucket.rest.glue_url) as proxy:
        # The stand-in for Glue has no certificate.
        rows = run_script(script.replace("https://", "http://"), f"SET http_proxy = '{proxy.address}'")
    assert sorted(rows) == [(1, "de"), (2, "fr")]


@pytest.mark.parametrize("name", ["tableflow", "s3_tables", "glue"])
def test_pyiceberg_reads_the_table(
    name: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    table: QueriedTable = request.getfixturevalue(name)
    exec(pyiceberg(table), {})  # noqa: S102
    assert '[["de","fr"]]' in capsys.readouterr().out


def test_a_wrong_key_opens_nothing(tableflow: QueriedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_TABLEFLOW_API_SECRET", "hunter2")
    with pytest.raises(Exception, match="invalid_client"):
        run_script(duckdb(tableflow))
    with pytest.raises(Exception, match="invalid_client"):
        exec(pyiceberg(tableflow), {})  # noqa: S102
