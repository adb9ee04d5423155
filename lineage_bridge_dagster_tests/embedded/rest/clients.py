"""How a client reaches the embedded REST catalogs."""

from __future__ import annotations

from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.rest.server import IcebergRest


def signed_properties(rest: IcebergRest, aws: StrictAws) -> dict[str, str]:
    """PyIceberg's properties of the table bucket's catalog, whose requests are signed as Glue wants them."""
    return {
        "uri": rest.glue_url,
        "warehouse": rest.warehouse,
        "rest.sigv4-enabled": "true",
        "rest.signing-name": "glue",
        "rest.signing-region": "us-east-1",
        "client.region": "us-east-1",
        "client.access-key-id": ACCESS_KEY,
        "client.secret-access-key": SECRET_KEY,
        "s3.endpoint": aws.endpoint_url,
    }
