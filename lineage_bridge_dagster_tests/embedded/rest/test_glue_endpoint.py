"""The gate of Glue's Iceberg endpoint, through PyIceberg: what a user with this mistake would see."""

from __future__ import annotations

import uuid

import httpx
import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import ForbiddenError, RESTError

from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster_tests.embedded.rest.clients import signed_properties

pytestmark = pytest.mark.xdist_group("rest")


def connect(rest: IcebergRest, aws: StrictAws, **changes: str) -> Catalog:
    return RestCatalog("s3tables", **{**signed_properties(rest, aws), **changes})


@pytest.fixture
def namespace(rest: IcebergRest, aws: StrictAws) -> str:
    name = f"ns_{uuid.uuid4().hex[:8]}"
    connect(rest, aws).create_namespace(name)
    return name


def test_the_prefix_is_the_catalog_id_with_colons(rest: IcebergRest, aws: StrictAws) -> None:
    catalog = connect(rest, aws)
    assert catalog.properties["prefix"] == f"catalogs/{aws.account_id}:s3tablescatalog:table-bucket"


def test_the_accounts_own_catalog_has_glues_tables(rest: IcebergRest, aws: StrictAws) -> None:
    aws.client("glue").create_database(DatabaseInput={"Name": "plain_database"})
    names = connect(rest, aws, warehouse=aws.account_id).list_namespaces()
    assert ("plain_database",) in names


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rest.signing-name": "s3tables"}, "scoped to correct service: 'glue'"),
        ({"rest.signing-region": "eu-west-1"}, "scoped to a valid region"),
        ({"client.secret-access-key": "wrong"}, "does not match the signature you provided"),
        ({"client.access-key-id": "AKIAUNKNOWN"}, "security token included in the request is invalid"),
        ({"rest.sigv4-enabled": "false"}, "requires 'Credential' parameter"),
    ],
)
def test_a_request_signed_wrong_is_refused_with_the_message_of_aws(
    rest: IcebergRest, aws: StrictAws, changes: dict[str, str], message: str
) -> None:
    with pytest.raises(ForbiddenError, match=message):
        connect(rest, aws, **changes)


@pytest.mark.parametrize(("minutes", "message"), [(10, "Signature expired"), (-10, "not yet current")])
def test_a_clock_ten_minutes_off_is_refused(
    rest: IcebergRest, aws: StrictAws, monkeypatch: pytest.MonkeyPatch, minutes: int, message: str
) -> None:
    monkeypatch.setattr(rest, "clock_skew_seconds", minutes * 60.0)
    with pytest.raises(ForbiddenError, match=message):
        connect(rest, aws)


def test_a_changed_body_is_refused(rest: IcebergRest, aws: StrictAws, namespace: str) -> None:
    catalog = connect(rest, aws)
    assert isinstance(catalog, RestCatalog)
    url = f"{rest.glue_url}/v1/{catalog.properties['prefix']}/namespaces"
    prepared = catalog._session.prepare_request(requests.Request("POST", url, data=b'{"namespace": ["a"]}'))
    catalog._session.get_adapter(url).add_headers(prepared)
    sent = httpx.post(url, content=b'{"namespace": ["b"]}', headers=dict(prepared.headers), trust_env=False)
    assert sent.status_code == 403
    assert "does not match the signature" in sent.json()["message"]


def test_another_warehouse_is_not_found(rest: IcebergRest, aws: StrictAws) -> None:
    with pytest.raises(RESTError, match="Catalog s3://table-bucket not found"):
        connect(rest, aws, warehouse="s3://table-bucket")


def test_names_that_a_table_bucket_refuses(rest: IcebergRest, aws: StrictAws, namespace: str) -> None:
    with pytest.raises(RESTError, match=r"orders\.v1 is invalid"):
        connect(rest, aws).create_table((namespace, "orders.v1"), pa.schema([("id", pa.int64())]))
