"""Secrets in SQL, configurations, properties and texts reach nothing that leaves a discovery."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.glue.enrichment import enrich
from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergColumn, IcebergTable
from lineage_bridge_dagster.catalogs.rest.enrichment import table_node
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.chains import chains_of, to_json
from lineage_bridge_dagster.lineage.coverage import ICEBERG, Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.lineage.parquet_folder import dump_folder
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import NOW, REGION
from lineage_bridge_dagster_tests.catalogs.glue.runs import push_to_glue
from lineage_bridge_dagster_tests.command_lines import command_lines
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    avro,
    config,
    connect_path,
    connector,
    flink_path,
    kafka_path,
    listing,
    settings,
    small_world,
    statement,
)
from lineage_bridge_dagster_tests.secret_cases import Case, cases

pytestmark = pytest.mark.xdist_group("flink")

ENRICH = "INSERT INTO enriched SELECT id FROM orders WHERE token = '{}' AND status = 'shipped'"
KSQLDB = "pksqlc-1.us-east-1.aws.glb.confluent.cloud/ksql"


def of(found: Iterable[Case], *places: str) -> list[Case]:
    return [case for case in found if case.place in places]


def world(found: list[Case]) -> FakeConfluent:
    """A topic that statements, queries and connectors write, each with a secret of its own."""
    fake = small_world()
    fake.routes[flink_path("us-east-1")] = listing(
        statement("enrich", ENRICH.format("r00t-s3cret")),
        *(
            statement(f"statement-{n}", case.value.replace(" out ", " enriched ").replace(" a ", " orders "))
            for n, case in enumerate(of(found, "flink"))
        ),
    )
    connectors = [
        connector(
            f"connector-{n}",
            "source",
            {"connector.class": "DatagenSource", "kafka.topic": "orders", case.key: case.value},
        )
        for n, case in enumerate(of(found, "config", "query"))
    ]
    fake.routes[connect_path("lkc-a")] = {name: one for each in connectors for name, one in each.items()}
    queries = [
        {
            "id": f"CSAS_ENRICHED_{n}",
            "statementText": case.value,
            "sources": ["ORDERS"],
            "sinks": ["ENRICHED"],
            "queryType": "PERSISTENT",
            "state": "RUNNING",
        }
        for n, case in enumerate(of(found, "ksql"))
    ]
    spec = {"display_name": "streams", "kafka_cluster": {"id": "lkc-a"}}
    status = {"http_endpoint": f"https://{KSQLDB.split('/')[0]}", "phase": "PROVISIONED", "is_paused": False}
    fake.routes["/ksqldbcm/v2/clusters"] = listing({"id": "lksqlc-1", "spec": spec, "status": status})
    fake.routes[KSQLDB] = [
        {
            "@type": "streams",
            "streams": [{"type": "STREAM", "name": n.upper(), "topic": n} for n in ("orders", "enriched")],
        },
        {"@type": "tables", "tables": []},
        {"@type": "queries", "queries": []},
        {"@type": "query_descriptions", "queryDescriptions": queries},
    ]
    comments = [case.value for case in of(found, "comment")]
    subject = avro("enriched-value", *(f"c{n}" for n, _ in enumerate(comments)))
    schema = json.loads(subject["schema"])
    for field, comment in zip(schema["fields"], comments, strict=True):
        field["doc"] = comment
    fake.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [{**subject, "schema": json.dumps(schema)}]
    fake.routes[kafka_path("lkc-a", "/topics/-/configs")] = listing(
        *(
            config(
                "enriched",
                case.key,
                case.value,
            )
            for case in of(found, "topic_config")
        )
    )
    return fake


def rest_table(found: list[Case], mode: str) -> Node:
    """The node of a table of a REST catalog, as a stored discovery of everything has it."""
    table = IcebergTable(
        namespace=("shop",),
        name="orders",
        uuid="1",
        columns=tuple(IcebergColumn("c", "string", case.value) for case in of(found, "comment")),
        location=of(found, "location")[0].value,
        properties={case.key: case.value for case in of(found, "parameter")},
    )
    catalog = CatalogSettings(name="polaris", type="rest", uri="https://polaris.example")
    return table_node(table, catalog, Scope(ICEBERG, "", "polaris"), NOW.isoformat(), sql=mode)


def shown_by(discovery: Discovery) -> dict[str, str]:
    """What the UI and the lineage tables show."""
    inventory = build_inventory(discovery, LineageTranslator().get_asset_spec)
    specs = (*inventory.topics, *inventory.chains, *inventory.tables, *inventory.external)
    return {
        "the chains": json.dumps(
            [to_json(chain) for chain in chains_of(discovery.graph)], ensure_ascii=False
        ),
        "the UI": "".join(repr((a.spec.description, a.spec.metadata, a.spec.tags)) for a in specs),
    }


def test_no_secret_reaches_glue_the_state_the_logs_or_the_ui(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    planted = [*cases("planted"), *cases("strangers")]
    assert len({case.secret for case in planted}) >= 400
    with FlinkSqlParser() as parser, StrictAws() as aws:
        found = discover(settings(), transport=world(planted).transport, parser=parser)
        client = glue_client(AwsSettings(region=REGION, endpoint_url=aws.endpoint_url))
        catalog = Catalog(aws)
        storage = {
            "Location": of(planted, "location")[0].value,
            "Columns": [
                {"Name": f"c{n}", "Type": "string", "Comment": case.value}
                for n, case in enumerate(of(planted, "comment"))
            ],
            "SerdeInfo": {"Parameters": {case.key: case.value for case in of(planted, "parameter")}},
        }
        for node in found.graph.of_type("tableflow_table"):
            catalog.create(
                node.attributes["glue_table"],
                node.attributes["glue_database"],
                parameters={case.key: case.value for case in of(planted, "parameter")},
                StorageDescriptor=storage,
                Description=of(planted, "description")[0].value,
            )
        enriched = enrich(found, client, region=REGION)
        report = push_to_glue(enriched, client, PushSettings())
        assert report.counts["updated"] >= 1
        commands = "\n".join(command_lines(psutil.Process()))
        tables = [catalog.table(result.table_name, result.database) for result in report.results]
    nodes = [*enriched.graph.nodes.values(), rest_table(planted, "redacted")]
    enriched = replace(enriched, graph=Graph(nodes, enriched.graph.edges.values()))
    pushed = "".join(
        value for table in tables for key, value in table["Parameters"].items() if key.startswith(PREFIX)
    )
    assert "INSERT INTO enriched" in pushed
    assert "status = 'shipped'" in pushed
    graph_json.dump(enriched, tmp_path / "state.json", with_caches=True)
    dump_folder(enriched, tmp_path / "graph")
    outputs = {
        "Glue": pushed,
        "the report": json.dumps(report.to_json(), ensure_ascii=False) + repr(report),
        "the lineage tables": "".join(
            str(pq.read_table(path).to_pylist()) for path in sorted(tmp_path.glob("graph/*.parquet"))
        ),
        "the logs": caplog.text,
        "the command lines": commands,
        **shown_by(enriched),
        **{
            str(path): path.read_bytes().decode(errors="replace")
            for path in tmp_path.rglob("*")
            if path.is_file()
        },
    }
    for output, text in outputs.items():
        assert text, output
    leaks = {
        case: output
        for case in planted
        for output, text in outputs.items()
        if case.secret in text or case.secret.encode("unicode_escape").decode() in text
    }
    assert leaks == {}
