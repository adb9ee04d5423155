"""Secrets in SQL and connector configurations reach nothing that leaves a discovery."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import httpx
import pytest

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.config.settings import AwsSettings, PushSettings
from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.glue import enrich, glue_client, push_tables
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.chains import chains_of, to_json
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    flink_path,
    listing,
    settings,
    small_world,
    statement,
)
from lineage_bridge_dagster_tests.glue.catalog import Catalog
from lineage_bridge_dagster_tests.glue.graphs import REGION

pytestmark = pytest.mark.xdist_group("flink")

SECRETS = (
    "pl41n-p4ssw0rd",
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "ur1-us3r-p4ss",
)
# ruff: noqa: S608
SQL = f"""INSERT INTO enriched SELECT id FROM orders /*+ OPTIONS(
  'properties.sasl.jaas.config'='org.apache.kafka.PlainLoginModule required password="{SECRETS[0]}";',
  'aws.access-key-id'='{SECRETS[1]}', 'aws.secret-access-key'='{SECRETS[2]}',
  'headers.authorization'='Bearer {SECRETS[3]}',
  'connection.url'='jdbc:postgresql://svc:{SECRETS[4]}@db.example:5432/shop') */"""


def _with_secrets(request: httpx.Request, response: httpx.Response) -> httpx.Response:
    """Return the response with every secret in each connector's configuration."""
    if not request.url.path.endswith("/connectors") or response.status_code != 200:
        return response
    connectors = json.loads(response.content)
    for connector in connectors.values():
        config = connector["info"]["config"]
        config["connection.password"], config["aws.secret.access.key"] = SECRETS[0], SECRETS[2]
        config["connection.uri"] = f"mongodb://svc:{SECRETS[4]}@mongo.example/shop"
        config["header.auth.token"] = SECRETS[3]
    return httpx.Response(200, json=connectors)


def test_no_secret_reaches_glue_the_state_the_logs_or_the_ui(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}.items():
        monkeypatch.setenv(name, value)
    world = small_world()
    world.routes[flink_path("us-east-1")] = listing(statement("enrich", SQL))
    transport = httpx.MockTransport(
        lambda request: _with_secrets(request, world.transport.handle_request(request))
    )
    with FlinkSqlParser() as parser, StrictAws() as aws:
        discovery = discover(settings(), transport=transport, parser=parser)
        tables = [node for node in discovery.graph.nodes.values() if node.node_type == "tableflow_table"]
        catalog = Catalog(aws)
        for node in tables:
            if node.attributes.get("glue_database"):
                catalog.create(node.attributes["glue_table"], node.attributes["glue_database"])
        client = glue_client(AwsSettings(region=REGION, endpoint_url=aws.endpoint_url))
        enriched = enrich(discovery, client, region=REGION)
        report = push_tables(enriched, client, PushSettings())
        assert report.counts["updated"] >= 1
        pushed = "".join(str(catalog.table(r.table_name, r.database)) for r in report.results)
    assert "INSERT INTO enriched" in pushed
    state = tmp_path / "state.json"
    graph_json.dump(enriched, state)
    inventory = build_inventory(enriched, LineageTranslator().get_asset_spec)
    outputs = {
        "Glue": pushed,
        "the report": json.dumps(report.to_json()) + repr(report),
        "the state": state.read_text(),
        "the chains": json.dumps([to_json(chain) for chain in chains_of(enriched.graph)]),
        "the UI": "".join(
            repr((a.spec.description, a.spec.metadata, a.spec.tags))
            for a in (*inventory.topics, *inventory.chains, *inventory.tables, *inventory.external)
        ),
        "the logs": caplog.text,
    }
    for output, text in outputs.items():
        assert text, output
        for secret in SECRETS:
            assert secret not in text, f"{secret} in {output}"
