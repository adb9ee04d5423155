"""The gate of Tableflow's catalog: tokens, their expiry and scope, and reads only."""

from __future__ import annotations

import httpx
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import ForbiddenError, OAuthError, RESTError

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.rest.server import TABLEFLOW, IcebergRest

pytestmark = pytest.mark.xdist_group("rest")

KEY = world.api_key("tableflow")


def connect(rest: IcebergRest, aws: StrictAws, **changes: str) -> RestCatalog:
    properties = {
        "uri": rest.tableflow_url,
        "credential": f"{KEY.key}:{KEY.secret}",
        "scope": "catalog",
        "oauth2-server-uri": f"{rest.tableflow_url}/v1/oauth/tokens",
        "s3.endpoint": aws.endpoint_url,
        "s3.access-key-id": "any",
        "s3.secret-access-key": "any",
        "s3.region": "us-east-1",
        **changes,
    }
    return RestCatalog("tableflow", **properties)


@pytest.fixture(scope="module")
def filled(rest: IcebergRest, aws: StrictAws) -> IcebergRest:
    """A table that the service itself has written."""
    properties = {"s3.endpoint": aws.endpoint_url, "s3.access-key-id": "any", "s3.secret-access-key": "any"}
    writer = RestCatalog("writer", uri=rest.backend(TABLEFLOW), **properties)
    writer.create_namespace("lkc-1")
    table = writer.create_table(("lkc-1", "orders.v1"), pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1, 2]}))
    return rest


def namespaces(rest: IcebergRest, token: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.get(f"{rest.tableflow_url}/v1/namespaces", headers=headers, trust_env=False)


def test_a_token_reads_tables(filled: IcebergRest, aws: StrictAws) -> None:
    catalog = connect(filled, aws)
    assert catalog.list_tables("lkc-1") == [("lkc-1", "orders.v1")]
    assert catalog.load_table(("lkc-1", "orders.v1")).scan().to_arrow().num_rows == 2


def test_tables_are_read_only(filled: IcebergRest, aws: StrictAws) -> None:
    table = connect(filled, aws).load_table(("lkc-1", "orders.v1"))
    with pytest.raises(ForbiddenError, match="read-only"), table.transaction() as transaction:
        transaction.set_properties({"owner": "me"})
    with pytest.raises(ForbiddenError, match="read-only"):
        connect(filled, aws).drop_table(("lkc-1", "orders.v1"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"credential": f"{KEY.key}:wrong"}, "invalid_client"),
        ({"scope": "PRINCIPAL_ROLE:ALL"}, "invalid_scope"),
    ],
)
def test_wrong_credentials_get_no_token(
    rest: IcebergRest, aws: StrictAws, changes: dict[str, str], message: str
) -> None:
    with pytest.raises((OAuthError, RESTError), match=message):
        connect(rest, aws, **changes)


def test_an_expired_token_is_refused(rest: IcebergRest, monkeypatch: pytest.MonkeyPatch) -> None:
    form = {"grant_type": "client_credentials", "client_id": KEY.key, "client_secret": KEY.secret}
    issued = httpx.post(
        f"{rest.tableflow_url}/v1/oauth/tokens", data={**form, "scope": "catalog"}, trust_env=False
    ).json()
    assert namespaces(rest, issued["access_token"]).status_code == 200
    now = rest.issuer.now
    monkeypatch.setattr(rest.issuer, "now", lambda: now() + issued["expires_in"] + 1)
    response = namespaces(rest, issued["access_token"])
    assert response.status_code == 401
    assert "expired" in response.json()["error"]["message"]


def test_a_token_of_another_issuer_is_refused(rest: IcebergRest) -> None:
    response = namespaces(rest, "made.up")
    assert response.status_code == 401
    assert "not issued by this server" in response.json()["error"]["message"]


def test_another_environment_is_not_found(rest: IcebergRest) -> None:
    url = rest.tableflow_url.replace(world.ENVIRONMENT_ID, "env-other")
    assert httpx.get(f"{url}/v1/config", trust_env=False).status_code == 404
