"""What DataHub's own readers show of a pushed table, and of the events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest

from lineage_bridge_dagster.catalogs.glue.glue_catalog import GlueCatalog
from lineage_bridge_dagster.catalogs.push import push_to
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.openlineage.events import events
from lineage_bridge_dagster_tests.assets.location import create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, WEST, world
from lineage_bridge_dagster_tests.openlineage.datahub.environment import read
from lineage_bridge_dagster_tests.openlineage.test_events import GLUE, shop

PROPERTIES = "com.linkedin.pegasus2avro.dataset.DatasetProperties"


def urn(platform: str, name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def test_source_of_glue_shows_the_parameters_and_the_description_of_a_pushed_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with StrictAws() as aws:
        for name, value in {
            "AWS_ENDPOINT_URL": aws.endpoint_url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        }.items():
            monkeypatch.setenv(name, value)
        glue = boto3.client("glue", region_name=REGION)
        w = world()
        create_tables(glue, w)
        push_to([GlueCatalog(glue, PushSettings())], w.discovery())
        pushed = glue.get_table(DatabaseName=EAST, Name="o.v1")["Table"]
        records = read("glue", REGION)
    shown = {
        snapshot["urn"]: next(aspect[PROPERTIES] for aspect in snapshot["aspects"] if PROPERTIES in aspect)
        for record in records
        for snapshot in record.get("proposedSnapshot", {}).values()
        if any(PROPERTIES in aspect for aspect in snapshot["aspects"])
    }
    found = shown[urn("glue", f"{EAST}.o.v1")]
    ours = {key: value for key, value in pushed["Parameters"].items() if key.startswith("lineage_bridge.")}
    assert ours["lineage_bridge.source_connectors"] == "debezium-pg"
    assert found["customProperties"].items() >= pushed["Parameters"].items()
    assert found["description"] == pushed["Description"]
    assert "Managed by LineageBridge" in found["description"]


def test_converter_of_the_documentation_gives_assets_the_names_of_those_sources() -> None:
    text = (Path(__file__).parents[3] / "docs" / "readers.md").read_text()
    converter = text.partition("```python\n")[2].partition("```")[0]
    keys = [
        ["glue", EAST, "o.v1"],
        ["glue", "1.eu-west-1", "db", "t"],
        ["kafka", EAST, "raw"],
        ["connect", "c"],
    ]
    found = read("urns", json.dumps(keys), stdin=converter)
    assert found == [urn("glue", f"{EAST}.o.v1"), urn("glue", "db.t"), urn("kafka", "raw"), "None"]


def test_events_give_datahub_the_edges_of_the_graph_to_the_column() -> None:
    discovery = shop().discovery()
    # Two clusters may have a topic of one name: each is a platform instance.
    mapping = {
        GLUE: {},
        **{f"kafka://{cluster}.example": {"platform_instance": cluster} for cluster in (EAST, WEST)},
    }
    lines = "\n".join(json.dumps(event) for event in events(discovery, account="123456789012"))
    edges: dict[str, Any] = {}
    for output, aspect in read("openlineage", json.dumps(mapping), stdin=lines):
        for each in aspect["upstreams"]:
            edges[each["dataset"], output] = {}
        for flow in aspect.get("fineGrainedLineages", ()):
            (column,) = flow["downstreams"]
            for source in flow["upstreams"]:
                dataset, field = source.removeprefix("urn:li:schemaField:(").removesuffix(")").rsplit(",", 1)
                target = column.removesuffix(")").rsplit(",", 1)[1]
                edges[dataset, output][target] = field
    database, raw, clean = (
        urn("postgres", "shop.public.orders"),
        urn("kafka", f"{EAST}.raw"),
        urn("kafka", f"{EAST}.clean"),
    )
    table, mirror = urn(GLUE, f"table/{EAST}/clean"), urn("kafka", f"{WEST}.clean")
    assert edges == {
        (database, raw): {},
        (raw, clean): {"id": "id", "amount": "price"},
        (clean, table): {"id": "id", "amount": "amount"},
        (clean, mirror): {"id": "id", "amount": "amount", "unsure": "unsure"},
    }
