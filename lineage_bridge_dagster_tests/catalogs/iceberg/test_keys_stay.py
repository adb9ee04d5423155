"""The key of a REST catalog goes to its own host, wherever that sends clients."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import CatalogError, open_catalog
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster_tests.rest_server import RestServer, running

PLACE = TableflowPlace("org-1", "env-1", "AWS", "us-east-1")


def open_tableflow(server: RestServer) -> None:
    settings = Settings.from_env(
        {
            "LINEAGE_BRIDGE_TABLEFLOW_CATALOG": server.url,
            "LINEAGE_BRIDGE_TABLEFLOW_API_KEY": "key-1",
            "LINEAGE_BRIDGE_TABLEFLOW_API_SECRET": "hunter2",
        }
    )
    catalogs = settings.all_catalogs([PLACE])
    open_catalog(catalogs, catalogs.tableflow[PLACE])


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("end", ["/v1/oauth/tokens", "/v1/config"])
def test_a_redirect_to_another_host_is_not_followed(end: str, status: int) -> None:
    with running(RestServer()) as other, running(RestServer()) as own:
        own.answers[end] = (status, {"Location": f"{other.url}{end}"}, {})
        with pytest.raises(CatalogError, match="to another host") as raised:
            open_tableflow(own)
    assert other.received == []
    assert "uri of the catalog" in raised.value.hint
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("name", ["uri", "oauth2-server-uri"])
def test_a_configuration_that_names_another_host_is_refused(name: str) -> None:
    with running(RestServer()) as other, running(RestServer()) as own:
        own.config["overrides"] = {name: other.url}
        with pytest.raises(CatalogError, match="to another host"):
            open_tableflow(own)
    assert other.received == []


def test_a_redirect_on_the_same_host_is_followed() -> None:
    with running(RestServer()) as own:
        own.answers = {
            "/v1/config": (307, {"Location": f"{own.url}/moved"}, {}),
            "/moved": (200, {}, own.config),
        }
        open_tableflow(own)
    assert sum("Bearer token" in each for each in own.received) == 2
