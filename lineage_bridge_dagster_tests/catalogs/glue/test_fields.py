"""Fields of a Glue table that a write carries over, and those that botocore does not know."""

from __future__ import annotations

import json
from typing import Any

from botocore.loaders import create_loader

from lineage_bridge_dagster.catalogs.glue.fields import READ_ONLY_FIELDS, writable_fields
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.runs import graph_of, push


def test_every_field_of_a_table_is_writable_or_read_only() -> None:
    shapes = create_loader().load_service_model("glue", "service-2")["shapes"]
    unknown = set(shapes["Table"]["members"]) - writable_fields() - READ_ONLY_FIELDS
    # Before listing a new field in READ_ONLY_FIELDS, find out whether UpdateTable keeps it.
    assert unknown <= {"RLSProperties"}
    assert not READ_ONLY_FIELDS & writable_fields()


def test_table_with_a_field_unknown_to_botocore_is_refused(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")

    def add_field(response_dict: dict[str, Any], **_: Any) -> None:
        body = json.loads(response_dict["body"])
        for table in body.get("TableList", [body.get("Table")]):
            table["StorageDescriptor"]["Tiering"] = {"Cold": True}
        response_dict["body"] = json.dumps(body).encode()

    client.meta.events.register_first("before-parse.glue.*", add_field)
    (result,) = push(client, graph_of()).results
    assert result.status is PushStatus.REFUSED
    assert "StorageDescriptor.Tiering" in result.reason
