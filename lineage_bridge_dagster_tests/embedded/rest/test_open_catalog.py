"""Catalogs opened by their settings in PyIceberg, against the real gates: errors, and concurrent commits."""

from __future__ import annotations

import socket
from collections.abc import Mapping

import pytest

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import CatalogError, open_catalog
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster.settings import Settings

pytestmark = pytest.mark.xdist_group("rest")

PROCESSES, APPENDS = 3, 8
KEY = world.api_key("tableflow")


@pytest.fixture
def env(rest: IcebergRest, aws: StrictAws, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables that define the table bucket as the catalog `s3tables`."""
    keys = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_REGION": "us-east-1"}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    return {
        **keys,
        "ICEBERG_REST_URI": rest.glue_url,
        "ICEBERG_WAREHOUSE": rest.warehouse,
        "AWS_ENDPOINT_URL_S3": aws.endpoint_url,
    }


def catalogs(env: Mapping[str, str], **tableflow: str) -> Catalogs:
    named = {"tableflow": {"type": "rest", **tableflow}} if tableflow else {}
    return Settings.from_env(env, given={"catalogs": {"named": named}}).all_catalogs()


@pytest.mark.parametrize(
    ("changes", "message", "remedy"),
    [
        ({"ICEBERG_WAREHOUSE": "111122223333:s3tablescatalog/other"}, "not found", "Correct warehouse"),
        ({"ICEBERG_REST_URI": "{closed}"}, "did not answer", "Check uri"),
    ],
)
def test_a_catalog_that_is_not_there_says_what_to_check(
    env: dict[str, str], changes: dict[str, str], message: str, remedy: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"http://127.0.0.1:{listener.getsockname()[1]}/iceberg"
    changed = {name: value.format(closed=closed) for name, value in changes.items()}
    with pytest.raises(CatalogError, match=message) as raised:
        open_catalog(catalogs({**env, **changed}), "s3tables")
    assert remedy in raised.value.hint


def test_a_wrong_clock_is_named(
    env: dict[str, str], rest: IcebergRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "clock_skew_seconds", 600.0)
    with pytest.raises(CatalogError, match="Signature expired") as raised:
        open_catalog(catalogs(env), "s3tables")
    assert "clock" in raised.value.hint


def test_another_region_than_that_of_the_endpoint_is_named(env: dict[str, str]) -> None:
    with pytest.raises(CatalogError, match="scoped to a valid region") as raised:
        open_catalog(catalogs({**env, "AWS_REGION": "eu-west-1"}), "s3tables")
    assert "signing_region" in raised.value.hint


def test_client_credentials_open_tableflows_catalog_and_its_token_is_renewed(
    env: dict[str, str], rest: IcebergRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    env["LINEAGE_BRIDGE_CATALOG_TABLEFLOW_CREDENTIAL"] = f"{KEY.key}:{KEY.secret}"
    catalog = open_catalog(catalogs(env, uri=rest.tableflow_url), "tableflow")
    before = catalog.list_namespaces()
    now = rest.issuer.now
    monkeypatch.setattr(rest.issuer, "now", lambda: now() + 24 * 3600)
    assert catalog.list_namespaces() == before


def test_wrong_client_credentials_are_named(env: dict[str, str], rest: IcebergRest) -> None:
    env["LINEAGE_BRIDGE_CATALOG_TABLEFLOW_CREDENTIAL"] = f"{KEY.key}:hunter2"
    with pytest.raises(CatalogError, match="invalid_client") as raised:
        open_catalog(catalogs(env, uri=rest.tableflow_url), "tableflow")
    assert "credential_variable" in raised.value.hint
    assert "hunter2" not in str(raised.value)
