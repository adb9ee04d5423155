"""The way from a change to each node that it affects."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.impact.analysis import impact
from lineage_bridge_dagster.impact.change import DropColumn, DropNode
from lineage_bridge_dagster.impact.report import Impact
from lineage_bridge_dagster.impact.sql_flows import Parse
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef, World
from lineage_bridge_dagster_tests.impact.conftest import avro, world

pytestmark = pytest.mark.xdist_group("flink")

CDC = {
    "connector.class": "PostgresCdcSourceV2",
    "database.hostname": "pg",
    "database.port": "5432",
    "database.dbname": "shop",
    "topic.prefix": "shop",
    "after.state.only": "true",
    "table.include.list": "public.c",
}
CHAIN = {
    **world(
        {"shop.public.c": avro(id="int", mail="string?"), "mails": avro(address="string?")},
        statements={"s": "INSERT INTO mails SELECT LOWER(mail) FROM `shop.public.c`"},
        tableflow={"mails": "APPEND"},
        views={"v": "SELECT address AS a FROM lake.mails"},
        connectors=[{"name": "cdc", "type": "source", "config": CDC}],
    ),
    "owners": {"view : lake.v": "team:crm"},
}


def path_of(found: Impact, node: str) -> list[tuple[str, str | None, str]]:
    effect = next(each for each in found.by_node if str(each.node) == node)
    return [(str(step.node), step.column, step.evidence) for step in effect.path]


def test_a_path_names_each_node_with_its_column_and_the_evidence(parse: Parse) -> None:
    table = NodeRef(NodeKind.DATASET, "postgres://pg:5432/shop.public.c")
    found = impact(World.of_json(CHAIN), [DropColumn(table, "mail")], parse)
    assert path_of(found, "view : lake.v") == [
        (str(table), "mail", ""),
        ("connector : cdc", "mail", "configuration of the connector"),
        ("topic : shop.public.c", "mail", "written by connector cdc"),
        ("statement : s", None, "SQL of the statement"),
        ("topic : mails", "address", "written by statement s"),
        ("glue : lake.mails", "address", "Tableflow of the topic"),
        ("view : lake.v", "a", "SQL of the view"),
    ]
    assert {e.owner for e in found.effects if str(e.node) == "view : lake.v"} == {"team:crm"}


def test_a_path_leads_through_a_job_that_breaks(parse: Parse) -> None:
    found = impact(World.of_json(CHAIN), [DropNode(NodeRef(NodeKind.TOPIC, "shop.public.c"))], parse)
    assert path_of(found, "topic : mails") == [
        ("topic : shop.public.c", None, ""),
        ("statement : s", None, "SQL of the statement"),
        ("topic : mails", None, "written by statement s"),
    ]
