from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Coverage, Note, Scope, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import dumps, loads
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.unknowns import note_lines, note_text, unknowns_of, with_notes
from lineage_bridge_dagster_tests.lineage.graphs import CLUSTER, CONNECT, ENV, FLINK, coverage, node, shop


def unclear() -> Graph:
    graph = shop()
    graph.add_node(node("b", "connector", "export", CONNECT, unknown=["connector_class"]))
    graph.add_node(node("a", "connector", "crm", CONNECT, unknown=["connector_class", "topics"]))
    graph.add_node(node("bad", "flink_job", "bad", FLINK, parse_error="line 1"))
    return graph


def notes(of: Coverage, scope: Scope) -> tuple[Note, ...]:
    report = of.get(scope)
    assert report is not None
    return report.notes


def test_each_scope_names_what_it_leaves_open() -> None:
    noted = with_notes(coverage(), unclear())

    assert notes(noted, CONNECT) == (Note("connector_class", ("crm", "export")), Note("topics", ("crm",)))
    assert notes(noted, FLINK) == (Note("sql", ("bad",)),)
    assert note_lines(noted) == [
        (CONNECT, "2 connectors of an unknown class: crm, export"),
        (CONNECT, "1 connector whose topics are not all known: crm"),
        (FLINK, "1 statement that could not be parsed: bad"),
    ]


@pytest.mark.parametrize("status", Status)
def test_notes_change_no_status(status: Status) -> None:
    read = coverage(connect=status)
    noted = with_notes(read, unclear())

    assert [replace(report, notes=()) for report in noted] == list(read)
    assert noted.complete == read.complete == (status is Status.COMPLETE)
    assert noted.covers_all_table_sources == read.covers_all_table_sources
    assert all(noted.proves_absence(r.scope) == read.proves_absence(r.scope) for r in read)


def test_graph_without_gaps_gets_no_notes() -> None:
    assert list(with_notes(coverage(), shop())) == list(coverage())


def test_notes_are_kept_in_the_file() -> None:
    noted = with_notes(coverage(), unclear())
    text = dumps(Discovery(unclear(), noted, "2026-01-05T00:00:00Z"))

    assert {r["scope"]: r["notes"] for r in json.loads(text)["coverage"] if "notes" in r} == {
        f"connect:{ENV}:{CLUSTER}": [
            {"kind": "connector_class", "names": ["crm", "export"]},
            {"kind": "topics", "names": ["crm"]},
        ],
        str(FLINK): [{"kind": "sql", "names": ["bad"]}],
    }
    assert sorted(loads(text).coverage, key=lambda r: r.scope) == sorted(noted, key=lambda r: r.scope)


def test_note_of_another_version_still_reads_as_text() -> None:
    assert note_text(Note("time_zone", ("a",))) == "1 node with unknown time zone: a"


def test_connector_whose_class_is_known_now_is_no_longer_marked() -> None:
    """Even while its cluster's connectors are read only in part."""
    before = Discovery(unclear(), coverage(), "2026-01-05T00:00:00Z")
    now = unclear()
    now.nodes["a"] = node("a", "connector", "crm", CONNECT)
    found = Discovery(now, coverage(connect=Status.PARTIAL), "2026-01-06T00:00:00Z")

    assert unknowns_of(carry_forward(found, before).graph.nodes["a"]) == ()
