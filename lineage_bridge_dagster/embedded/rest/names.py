"""Names of the REST catalogs: their paths, and how they can fail on request."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from lineage_bridge_dagster.embedded.world.places import ENVIRONMENT_ID, ORGANIZATION_ID

#: Path of Glue's Iceberg endpoint.
GLUE_PATH = "/iceberg"
#: Path of Tableflow's catalog of the sample environment.
TABLEFLOW_PATH = f"{GLUE_PATH}/catalog/organizations/{ORGANIZATION_ID}/environments/{ENVIRONMENT_ID}"
#: Path of the stack's own API.
INTERNAL_PATH = "/_catalogs"

#: The catalogs behind the gate: the table bucket's, Tableflow's, and Glue's own.
S3_TABLES, TABLEFLOW, GLUE = "s3_tables", "tableflow", "glue"

#: The endpoints that can fail: Glue's Iceberg endpoint, and Tableflow's catalog.
S3_TABLES_ENDPOINT, TABLEFLOW_ENDPOINT = "s3tables", "tableflow_catalog"
EXPIRED_TOKEN, CLOCK_SKEW = "expired-token", "clock-skew"

_COMMON = ("401", "403", "404", "429", "500", "503", "timeout", "garbage")
#: How each endpoint can fail.
STATUSES: Mapping[str, tuple[str, ...]] = {
    S3_TABLES_ENDPOINT: (*_COMMON, CLOCK_SKEW),
    TABLEFLOW_ENDPOINT: (*_COMMON, EXPIRED_TOKEN),
}


def server_of(url: str) -> str:
    """The address of the server of an endpoint."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
