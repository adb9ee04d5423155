"""Events of OpenLineage: valid by the official schemas, and telling what the graph tells."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

from lineage_bridge_dagster.cli.export import openlineage
from lineage_bridge_dagster.datazone.events import MAX_EVENT_BYTES, prepared
from lineage_bridge_dagster.lineage.columns import (
    COLUMN_LINEAGE,
    Column,
    ColumnFlow,
    ColumnInput,
    ColumnUses,
    How,
    to_attribute,
)
from lineage_bridge_dagster.lineage.graph_json import dump
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.openlineage.events import events, utf8_json
from lineage_bridge_dagster.openlineage.incoming.parsing import parse_event
from lineage_bridge_dagster.openlineage.names import split_name
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, WEST, World, world
from lineage_bridge_dagster_tests.conftest import shared

KAFKA = f"kafka://{EAST}.example:9092"
GLUE = f"arn:aws:glue:{REGION}:123456789012"
DATABASE = "postgres://pg:5432/shop.public.orders"


@cache
def official() -> Registry[Any]:
    """The official schemas, by their ids; nothing is fetched."""
    files = [shared("openlineage", "OpenLineage.json"), *shared("openlineage", "facets").glob("*.json")]
    documents = [json.loads(file.read_text()) for file in files]
    return Registry().with_resources(
        (document["$id"], Resource.from_contents(document)) for document in documents
    )


def problems(event: dict[str, Any]) -> list[str]:
    """What the official schemas say against an event and its facets."""
    parts = [(event, event["schemaURL"])]
    for holder in (event["job"], *event["inputs"], *event["outputs"]):
        parts += [(facet, facet["_schemaURL"]) for facet in holder["facets"].values()]
    return [
        f"{url}: {error.message}"
        for part, url in parts
        for error in Draft202012Validator(
            {"$ref": url}, registry=official(), format_checker=FormatChecker()
        ).iter_errors(part)
    ]


def shop() -> World:
    """A database is captured, cleaned by Flink, and written to Glue by Tableflow; a topic is mirrored."""
    w = World()
    database, cdc = w.dataset(DATABASE), w.connector(EAST, "cdc", "PostgresCdcSourceV2")
    raw, clean = w.topic(EAST, "raw"), w.topic(EAST, "clean")
    w.edge(database, cdc, EdgeType.CONSUMES)
    w.edge(cdc, raw, EdgeType.PRODUCES, inputs=[database])
    job = w.statement("cleaning", "INSERT INTO clean SELECT id, price FROM raw WHERE open", [raw], [clean])
    flows = [
        ColumnFlow(Column(clean, "id"), (ColumnInput(Column(raw, "id"), How.IDENTITY),)),
        ColumnFlow(Column(clean, "amount"), (ColumnInput(Column(raw, "price"), How.AGGREGATE),)),
        ColumnFlow(Column(clean, "unsure"), (ColumnInput(Column(raw, "x"), How.IDENTITY),), complete=False),
    ]
    uses = [ColumnUses(clean, None, "filter", (Column(raw, "open"),))]
    lineage, _ = to_attribute(flows, uses=uses)
    set_attributes(w, job, **{COLUMN_LINEAGE: lineage}, phase="COMPLETED", owners=["team:stream"])
    set_attributes(w, clean, schema_fields=[{"name": "id", "type": "long"}, {"name": "amount"}])
    set_attributes(w, w.glue(EAST, "clean"), catalog_id="123456789012")
    w.edge(clean, w.topic(WEST, "clean"), EdgeType.TRANSFORMS)
    return w


#: Names that something may have, though some of them not everywhere.
STRANGE = (
    *("a b", " lead", "a/b//c", "a:b", "a?b=c&d#e", "a%20b", "a;b,c=d", "..", "*", "a@b", "user:pw@host"),
    *(
        'q"uote',
        "back\\slash",
        "tab\tx",
        "new\nline",
        "nul\x00x",
        "{x}[y]<z>",
        "ünïcödé",
        "表😀",
        "İﬁ",
        "\u202eabc",
    ),
    *("a\u2029b", "x" * 2_000),
)
_SYSTEMS = (
    "postgres://pg:5432/",
    "s3://b/",
    "bigquery:",
    "file:/",
    "",
    "arn:aws:glue:r:1/table/",
    "https://x/?",
)


def strange() -> World:
    """Strange names of everything, nested columns, none, 5,000 of them, and a statement of a megabyte."""
    w = World()
    for number, name in enumerate((*STRANGE, "long")):
        source, topic, copy = (
            w.dataset(f"{_SYSTEMS[number % len(_SYSTEMS)]}{name}"),
            w.topic(EAST, name),
            w.topic(WEST, name),
        )
        connector = w.connector(EAST, name, name)
        w.edge(source, connector, EdgeType.CONSUMES)
        w.edge(connector, topic, EdgeType.PRODUCES)
        job = w.statement(name, f"INSERT INTO `{name}` SELECT 1", [topic], [copy])
        nested = {"name": name, "type": "struct<a:map<string,array<int>>,b:struct<c:int>>"}
        set_attributes(
            w, topic, schema_fields=[nested, {"name": "m", "type": "map<string,int>"}], tags=[name]
        )
        flow = ColumnFlow(Column(copy, name), (ColumnInput(Column(topic, f"{name}.b.c"), How.EXPRESSION),))
        uses = [ColumnUses(copy, None, role, (Column(topic, name),)) for role in ("filter", "unheard of")]
        set_attributes(w, job, **{COLUMN_LINEAGE: to_attribute([flow], uses=uses)[0]}, owners=[name])
        set_attributes(w, w.glue(EAST, name), description=name, columns=[])
    many = [{"name": f"c{number}", "type": "int"} for number in range(5_000)]
    set_attributes(w, topic, schema_fields=many)
    set_attributes(w, job, sql="SELECT " + "x, " * 350_000 + "y FROM t")
    return w


def set_attributes(w: World, node_id: str, **attributes: Any) -> None:
    w.graph.nodes[node_id] = w.graph.nodes[node_id].with_attributes(**attributes)


def by_job(w: World) -> dict[str, dict[str, Any]]:
    return {event["job"]["name"]: event for event in events(w.discovery(), account="123456789012")}


@pytest.mark.parametrize("build", [shop, world, strange])
def test_every_event_is_valid_by_the_official_schemas(build: Any) -> None:
    found = list(events(build().discovery()))
    assert found
    assert [problem for event in found for problem in problems(event)] == []
    # What we send, we read: as one who shares a topic with us does.
    assert all(
        parse_event(json.loads(utf8_json(event))).outputs for event in found if event["job"]["name"].strip()
    )
    assert all(len(prepared(event).body) <= MAX_EVENT_BYTES for event in found)


def test_each_process_has_an_event_with_its_inputs_and_output() -> None:
    found = by_job(shop())
    assert {
        name: ([each["name"] for each in event["inputs"]], [each["name"] for each in event["outputs"]])
        for name, event in found.items()
    } == {
        "cdc": (["shop.public.orders"], ["raw"]),
        "cleaning": (["raw"], ["clean"]),
        "tableflow.clean": (["clean"], [f"table/{EAST}/clean"]),
        "mirror.clean": (["clean"], ["clean"]),
    }
    assert found["cdc"]["inputs"][0]["namespace"] == "postgres://pg:5432"
    assert found["cdc"]["outputs"][0]["namespace"] == KAFKA
    assert found["tableflow.clean"]["outputs"][0]["namespace"] == GLUE
    assert {name: event["eventType"] for name, event in found.items()} == {
        "cdc": "RUNNING",
        "cleaning": "COMPLETE",
        "tableflow.clean": "RUNNING",
        "mirror.clean": "RUNNING",
    }


def test_columns_have_their_transformations_and_those_of_unknown_sources_are_left_out() -> None:
    facets = by_job(shop())["cleaning"]["outputs"][0]["facets"]
    lineage = facets["columnLineage"]

    def short(inputs: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
        return [
            (each["field"], each["transformations"][0]["type"], each["transformations"][0]["subtype"])
            for each in inputs
        ]

    assert {name: short(field["inputFields"]) for name, field in lineage["fields"].items()} == {
        "id": [("id", "DIRECT", "IDENTITY")],
        "amount": [("price", "DIRECT", "AGGREGATION")],
    }
    assert short(lineage["dataset"]) == [("open", "INDIRECT", "FILTER")]
    assert [field["name"] for field in facets["schema"]["fields"]] == ["id", "amount"]


def test_table_has_its_columns_catalog_documentation_and_the_names_that_others_know_it_by() -> None:
    w = shop()
    table = next(n for n in w.graph.nodes if n.startswith("aws:"))
    set_attributes(
        w,
        table,
        description="Orders of the shop\n\nUpstream lineage:\n- topic: clean\nManaged by LineageBridge",
        parameters={"table_type": "ICEBERG"},
    )
    facets = by_job(w)["tableflow.clean"]["outputs"][0]["facets"]
    assert facets["columnLineage"]["fields"].keys() == {"id", "amount"}
    assert facets["documentation"]["description"] == "Orders of the shop"
    catalog = {key: value for key, value in facets["catalog"].items() if not key.startswith("_")}
    assert catalog == {"framework": "iceberg", "type": "glue", "name": "123456789012"}
    assert facets["symlinks"]["identifiers"] == [
        {"namespace": GLUE, "name": f"table/{EAST}/clean", "type": "TABLE"},
        {"namespace": "s3://bucket", "name": f"{EAST}/clean", "type": "LOCATION"},
    ]


def test_output_says_what_it_is_made_of_even_where_no_columns_are_known() -> None:
    w = shop()
    connector = next(n for n in w.graph.nodes if n.endswith("cdc"))
    w.edge(connector, w.topic(EAST, "heartbeats"), EdgeType.PRODUCES, inputs=[])
    found = by_job(w)
    source = {"namespace": "postgres://pg:5432", "name": "shop.public.orders", "type": "DATASET"}
    assert found["cdc.raw"]["outputs"][0]["facets"]["lineage"]["inputs"] == [source]
    assert found["cdc.heartbeats"]["outputs"][0]["facets"]["lineage"]["inputs"] == []


def test_job_has_its_owners_tags_and_the_class_of_a_connector() -> None:
    w = shop()
    connector = next(n for n in w.graph.nodes if n.endswith("cdc"))
    w.graph.nodes[connector] = replace(w.graph.nodes[connector], tags=("pii",), owners=("team:shop",))
    event = by_job(w)["cdc"]
    facets = event["job"]["facets"]
    assert problems(event) == []
    assert [each["key"] for each in facets["tags"]["tags"]] == ["pii"]
    assert [each["name"] for each in facets["ownership"]["owners"]] == ["team:shop"]
    assert facets["documentation"]["description"] == "PostgresCdcSourceV2"


@pytest.mark.parametrize(("status", "kind"), [("ACTIVE", "RUNNING"), ("PAUSED", "ABORT"), ("FAILED", "FAIL")])
def test_run_of_a_mirror_ends_with_its_link(status: str, kind: str) -> None:
    w = shop()
    key, edge = next(each for each in w.graph.edges.items() if each[0][2] == EdgeType.TRANSFORMS)
    w.graph.edges[key] = replace(edge, attributes={"mirror_status": status})
    assert by_job(w)["mirror.clean"]["eventType"] == kind


@pytest.mark.parametrize(("accounts", "known"), [(["1", "1"], "1"), (["1", "2"], ""), ([], "")])
def test_account_of_a_table_is_that_of_all_others(accounts: list[str], known: str) -> None:
    w = shop()
    set_attributes(w, next(n for n in w.graph.nodes if n.startswith("aws:")), catalog_id="")
    for number, account in enumerate(accounts):
        w.topic(EAST, f"t{number}")
        w.tableflow(EAST, f"t{number}")
        set_attributes(w, w.glue(EAST, f"t{number}"), catalog_id=account)
    found = {event["job"]["name"]: event for event in events(w.discovery())}
    assert found["tableflow.clean"]["outputs"][0]["namespace"] == f"arn:aws:glue:{REGION}:{known}"


def test_process_with_several_outputs_has_an_event_for_each_with_its_own_inputs() -> None:
    w = World()
    copier = w.connector(EAST, "copier", "PostgresCdcSourceV2")
    for name in ("a", "b"):
        dataset = w.dataset(f"postgres://pg:5432/shop.public.{name}")
        w.edge(dataset, copier, EdgeType.CONSUMES)
        w.edge(copier, w.topic(EAST, name), EdgeType.PRODUCES, inputs=[dataset])
    found = by_job(w)
    assert found.keys() == {"copier.a", "copier.b"}
    assert [each["name"] for each in found["copier.a"]["inputs"]] == ["shop.public.a"]


def test_run_stays_the_same_until_its_content_changes() -> None:
    first, second = by_job(shop()), by_job(shop())
    assert {name: event["run"] for name, event in first.items()} == {
        name: event["run"] for name, event in second.items()
    }
    w = shop()
    set_attributes(
        w, next(n for n in w.graph.nodes if n.endswith("cleaning")), sql="INSERT INTO clean SELECT 1"
    )
    changed = by_job(w)
    assert {name for name, event in changed.items() if event["run"] != first[name]["run"]} == {"cleaning"}


def test_bootstrap_lists_in_any_order_have_one_namespace() -> None:
    w = shop()
    topic = next(n for n in w.graph.nodes if n.endswith("raw"))
    set_attributes(w, topic, bootstrap_endpoint="SASL_SSL://b.example:9093,SASL_SSL://a.example:9093")
    output = by_job(w)["cdc"]["outputs"][0]
    assert output["namespace"] == "kafka://a.example:9093"
    assert output["facets"]["symlinks"]["identifiers"] == [
        {"namespace": "kafka://b.example:9093", "name": "raw", "type": "TOPIC"}
    ]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("s3://lake/topics/orders", ("s3://lake", "topics/orders")),
        ("bigquery:p.d.t", ("bigquery", "p.d.t")),
        ("arn:aws:glue:eu-west-1:1/table/d/t", ("arn:aws:glue:eu-west-1:1", "table/d/t")),
        ("file:/tmp/x", ("file", "/tmp/x")),
        ("snowflake://acme/DB.S.T", ("snowflake://acme", "DB.S.T")),
        ("kinesis", ("unknown", "kinesis")),
    ],
)
def test_name_of_a_dataset_has_a_namespace(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


def test_command_writes_an_event_a_line_with_redacted_sql(tmp_path: Path) -> None:
    graph, output = tmp_path / "graph.json", tmp_path / "events.jsonl"
    w = shop()
    job = next(n for n in w.graph.nodes if n.endswith("cleaning"))
    set_attributes(w, job, sql="INSERT INTO clean SELECT * FROM raw WHERE password = 'hunter2'")
    dump(w.discovery(), graph)
    result = CliRunner().invoke(openlineage, ["--graph", str(graph), "-o", str(output)])
    assert result.exit_code == 0, result.output
    found = {event["job"]["name"]: event for event in map(json.loads, output.read_text().splitlines())}
    assert list(found) == ["cdc", "cleaning", "tableflow.clean", "mirror.clean"]
    assert found["cleaning"]["job"]["facets"]["sql"]["query"].endswith("WHERE password = '****'")


def test_half_of_a_surrogate_pair_is_a_question_mark_where_utf8_is_written() -> None:
    [event] = events(halves().discovery())
    assert json.loads(utf8_json(event))["job"]["name"] == "?"
    assert b'"a?"' in prepared(event).body


def halves() -> World:
    """A connector and a topic with halves of surrogate pairs in their names."""
    w = World()
    w.edge(w.connector(EAST, "\ud800", "x"), w.topic(EAST, "a\udc00"), EdgeType.PRODUCES)
    return w
