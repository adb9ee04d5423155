"""The kinds of catalogs that lineage is pushed to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.glue.glue_catalog import GlueCatalog
from lineage_bridge_dagster.catalogs.lineage_catalog import LineageCatalog
from lineage_bridge_dagster.catalogs.rest.rest_catalogs import RestCatalogs
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


def every_catalog(
    client: GlueClient,
    catalogs: Callable[[], Catalogs],
    settings: PushSettings,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[LineageCatalog[Any, Any, Any], ...]:
    """Every kind of catalog.

    Args:
        catalogs: Reads the configured catalogs; called when one of them is needed.
        sleep: Waits between attempts at one table, in seconds.
    """
    return GlueCatalog(client, settings, sleep=sleep), RestCatalogs(catalogs, settings, sleep=sleep)
