"""Events are read whatever facets they have, and one that tells no lineage is refused with what and where."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.openlineage.incoming.event import Transition
from lineage_bridge_dagster.openlineage.incoming.parsing import RefusedEventError, parse_event
from lineage_bridge_dagster_tests.openlineage.incoming.producers import (
    columns,
    dataset,
    event,
    facet,
    of_dataset,
    of_job,
    schema,
    source,
    symlink,
)

ORDERS, LAKE = "postgres://pg:5432 shop.public.orders", "s3://lake orders"


def changed(**values: Any) -> dict[str, Any]:
    return {**event(outputs=[ORDERS]), **values}


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ("text", "no JSON object"),
        ([], "no JSON object"),
        (changed(eventTime=None), "eventTime is missing"),
        (changed(eventTime="yesterday"), "eventTime is 'yesterday'"),
        (changed(eventType="DONE"), "eventType is 'DONE'"),
        (changed(eventType=["START"]), "eventType is \"['START']\""),
        (changed(job={"name": "x"}), "job.namespace is missing"),
        (changed(job=None), "job is missing"),
        (changed(run={}), "run.runId is missing"),
        (changed(inputs={}), "inputs is '{}'"),
        (changed(outputs=[{"namespace": "a"}]), "outputs[0].name is missing"),
        (changed(outputs=[{"namespace": "postgres://pg", "name": ""}]), "outputs[0].name is ''"),
        (changed(outputs=[dataset(ORDERS), 3]), "outputs[1] is '3'"),
        (changed(inputs=[{"namespace": "a", "name": "x" * 5000}]), "has 5000 characters"),
        (changed(inputs=[dataset(ORDERS)] * 5001), "inputs has 5001 datasets"),
        (of_dataset(ORDERS) | {"dataset": 1}, "dataset is '1'"),
    ],
)
def test_what_tells_no_lineage_is_refused_with_its_place(document: object, what: str) -> None:
    with pytest.raises(RefusedEventError) as caught:
        parse_event(document)
    assert what in caught.value.message
    assert caught.value.hint


def test_the_empty_name_of_a_bucket_is_its_root() -> None:
    found = parse_event(event(inputs=[{"namespace": "s3a://lake", "name": ""}], outputs=[ORDERS]))
    assert found.inputs[0].name == ("s3a://lake", "/")


def test_each_kind_of_event_is_read() -> None:
    run = parse_event(event("START", [LAKE], [ORDERS], time="2026-11-01T11:00:00.123456789+01:00"))
    assert (run.time, run.transition) == ("2026-11-01T10:00:00.123Z", Transition.START)
    assert run.facts.integration == "SPARK"

    declared = parse_event(of_job([LAKE], [ORDERS]))
    assert (declared.run, declared.transition) == ("", None)
    assert [each.name for each in declared.outputs] == [("postgres://pg:5432", "shop.public.orders")]

    described = parse_event(of_dataset(LAKE, schema("id"), symlink("hive://meta:9083 shop.orders")))
    assert described.job is None
    assert described.inputs[0].aliases == (("hive://meta:9083", "shop.orders"),)


def test_facets_that_are_unknown_malformed_or_deleted_are_ignored() -> None:
    odd = {"symlinks": 3, "schema": {"fields": [1, {"name": 2}]}, "x": None, "columnLineage": {"fields": []}}
    gone = facet("symlinks", identifiers=[{"namespace": "a", "name": "b"}], _deleted=True)
    lineage = {**columns(id=[source(LAKE, "id")])["columnLineage"], "_deleted": True}
    told = dataset(ORDERS, gone, {"columnLineage": lineage}, facet("lineage", inputs=[], _deleted=True))
    found = parse_event(
        event(
            outputs=[{**dataset(LAKE), "facets": odd}, told],
            job_facets={"sql": "SELECT", **facet("lineage", entries=[{**dataset(LAKE)}], _deleted=True)},
        )
    )
    shown = [(each.aliases, each.fields, each.columns, each.explicit) for each in found.outputs]
    assert shown == [(None, None, None, False), ((), None, (), False)]


def test_no_secret_of_a_name_or_of_sql_is_kept() -> None:
    found = parse_event(
        event(
            inputs=["jdbc:postgresql://bob:hunter2@pg:5432/shop?password=hunter2 public.orders"],
            outputs=["abfss://raw@acme.dfs.core.windows.net orders"],
            job_facets=facet("sql", query="CREATE USER x PASSWORD 'hunter2'"),
            run_facets=facet("parent", job={"namespace": "airflow", "name": "etl.load?token=hunter2"}),
        )
    )
    assert "hunter2" not in repr(found)
    assert found.inputs[0].name.namespace == "jdbc:postgresql://pg:5432/shop"
    assert found.outputs[0].name.namespace == "abfss://raw@acme.dfs.core.windows.net"


def test_columns_are_read_from_both_facets_with_how_they_derive() -> None:
    found = parse_event(
        event(
            inputs=[LAKE],
            outputs=[
                dataset(
                    ORDERS,
                    columns(
                        [source(LAKE, "day", "INDIRECT", "FILTER")],
                        id=[source(LAKE, "id")],
                        total=[source(LAKE, "price", subtype="AGGREGATION")],
                    ),
                )
            ],
        )
    )
    told = {
        each.column: [(s.column, s.how, s.direct) for s in each.sources] for each in found.outputs[0].columns
    }
    assert told == {
        "id": [("id", "identity", True)],
        "total": [("price", "aggregate", True)],
        "": [("day", "filter", False)],
    }
    old = {"namespace": "s3://lake", "name": "orders", "field": "id"}
    of_1_0 = facet("columnLineage", fields={"id": {"inputFields": [old], "transformationType": "IDENTITY"}})
    (kept,) = parse_event(event(outputs=[dataset(ORDERS, of_1_0)])).outputs[0].columns[0].sources
    assert (kept.column, kept.how) == ("id", "identity")


def test_the_lineage_facet_of_a_job_names_what_feeds_what() -> None:
    def entry(name: str, *sources: str) -> dict[str, Any]:
        return {
            **dataset(name),
            "type": "DATASET",
            "inputs": [{**dataset(s), "type": "DATASET"} for s in sources],
        }

    found = parse_event(
        event(
            inputs=[LAKE],
            outputs=[ORDERS, "s3://lake copies"],
            job_facets=facet(
                "lineage",
                entries=[
                    entry(ORDERS, LAKE, "s3://lake extra"),
                    {**entry("airflow another.job", "s3://lake theirs"), "type": "JOB"},
                    {"type": "JOB", "inputs": entry(LAKE, "s3://lake own")["inputs"]},
                    7,
                ],
            ),
        )
    )
    assert [each.name.name for each in found.inputs] == ["orders", "extra", "own"]
    assert [(each.name.name, each.explicit) for each in found.outputs] == [
        ("shop.public.orders", True),
        ("copies", False),
    ]
