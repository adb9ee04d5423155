"""Columns of statements over topics' tables: what schemas, CREATE TABLE and ALTER TABLE each tell of them.

The expected columns are those of Confluent's pages "CREATE TABLE", "ALTER TABLE" and "Flink SQL examples".
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import flows_of, further_columns_of
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    flink_path,
    kafka_path,
    listing,
    settings,
    statement,
    topic,
)

pytestmark = pytest.mark.xdist_group("flink")

Fields = dict[str, Any]


def avro(subject: str, fields: Fields | Any, *, by_flink: bool = False) -> dict[str, Any]:
    """A subject's schema: a record of these fields, or any other document."""
    document = fields
    if isinstance(fields, dict) and "type" not in fields:
        document = {
            "type": "record",
            "name": "R",
            "namespace": "org.apache.flink.avro.generated.record" if by_flink else "com.acme",
            "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
        }
    return {"subject": subject, "version": 1, "id": 1, "schema": json.dumps(document)}


ROW = {"type": "record", "name": "Value", "fields": [{"name": n, "type": "string"} for n in ("id", "name")]}
ENVELOPE = {"before": ["null", ROW], "after": ["null", "Value"], "op": "string", "ts_ms": "long"}
LINES = {
    "type": "array",
    "items": {"type": "record", "name": "L", "fields": [{"name": "sku", "type": "string"}]},
}
I_S = avro("src-value", {"i": "int", "s": "string"})
AB = avro("dst-value", {"a": "string", "b": "string"}, by_flink=True)
CREATED = "CREATE TABLE src (i INT, s STRING"

#: What it shows, schemas, statements that are completed, the query, and the columns of `dst`.
CASES: list[tuple[str, list[dict[str, Any]], list[str], str, dict[str, list[str]]]] = [
    (
        "the key of an inferred table comes first",
        [I_S],
        [],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"key": ["key"], "i": ["i"], "s": ["s"]},
    ),
    (
        "a table that Flink created has no key of its own",
        [avro("src-value", {"i": "int", "s": "string"}, by_flink=True)],
        [],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"i": ["i"], "s": ["s"]},
    ),
    (
        "a CREATE TABLE tells that there is no key",
        [I_S],
        [f"{CREATED})"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"i": ["i"], "s": ["s"]},
    ),
    (
        "a statement that runs fills as many columns as it selects",
        [I_S, AB],
        [],
        "INSERT INTO dst SELECT * FROM src",
        {"a": ["i"], "b": ["s"]},
    ),
    (
        "and those that an inferred table has",
        [I_S, avro("dst-value", {"a": "string", "b": "string"})],
        [],
        "INSERT INTO dst SELECT * FROM src",
        {"key": ["key"], "a": ["i"], "b": ["s"]},
    ),
    (
        "raw keys and values have names without any schema",
        [AB],
        [],
        "INSERT INTO dst SELECT CAST(`key` AS STRING), CAST(val AS STRING) FROM src",
        {"a": ["key"], "b": ["val"]},
    ),
    (
        "a record key with a prefix",
        [avro("src-key", {"id": "int"}), avro("src-value", {"id": "long", "s": "string"}), AB],
        [],
        "INSERT INTO dst SELECT CAST(key_id AS STRING), CAST(id AS STRING) FROM src",
        {"a": ["key_id"], "b": ["id"]},
    ),
    (
        "an envelope's star",
        [avro("src-key", {"id": "string"}), avro("src-value", ENVELOPE)],
        [],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"id": ["id"], "name": ["name"]},
    ),
    (
        "an envelope that is read as it is",
        [avro("src-value", ENVELOPE), AB],
        ["ALTER TABLE src SET ('value.format' = 'avro-registry')"],
        "INSERT INTO dst SELECT op, after.name FROM src",
        {"a": ["op"], "b": ["after"]},
    ),
    (
        "until the option is reset",
        [avro("src-value", ENVELOPE), AB],
        ["ALTER TABLE src SET ('value.format' = 'avro-registry')", "ALTER TABLE src RESET ('value.format')"],
        "INSERT INTO dst SELECT id, name FROM src",
        {"a": ["id"], "b": ["name"]},
    ),
    (
        "a union's members by either name",
        [avro("src-value", ["string", {**ROW, "namespace": "org.a"}]), AB],
        [],
        "INSERT INTO dst SELECT `org.a.Value`.name, `Value`.id FROM src",
        {"a": ["org.a.Value"], "b": ["Value"]},
    ),
    (
        "a star of a row column",
        [avro("src-value", ["string", ROW])],
        [],
        "CREATE TABLE dst AS SELECT `Value`.* FROM src",
        {"id": ["Value"], "name": ["Value"]},
    ),
    (
        "UNNEST of a registered array of rows",
        [avro("src-value", {"o": "string", "lines": LINES}), AB],
        [],
        "INSERT INTO dst SELECT o, sku FROM src CROSS JOIN UNNEST(lines)",
        {"a": ["o"], "b": ["lines"]},
    ),
    (
        "metadata and computed columns of a CREATE TABLE",
        [I_S],
        [f"{CREATED}, up_s AS UPPER(s), event_time TIMESTAMP_LTZ(3) METADATA FROM 'timestamp')"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"i": ["i"], "s": ["s"], "up_s": ["up_s"], "event_time": ["event_time"]},
    ),
    (
        "virtual metadata is not filled, other metadata is",
        [AB],
        [
            "CREATE TABLE src (a STRING, p INT METADATA FROM 'partition' VIRTUAL, b STRING)",
            "CREATE TABLE dst (a STRING, p INT METADATA FROM 'partition' VIRTUAL, u AS UPPER(a), b STRING)",
        ],
        "INSERT INTO dst SELECT b, a FROM src",
        {"a": ["b"], "b": ["a"]},
    ),
    (
        "the registry has columns that the CREATE TABLE lacks, the latest last",
        [avro("src-value", {"later": "int", "i": "int", "s": "string"})],
        [f"{CREATED})"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"i": ["i"], "s": ["s"], "later": ["later"]},
    ),
    (
        "a column without schema is not in the star, and is still what a statement names",
        [I_S],
        [f"{CREATED}, gone INT)"],
        "CREATE TABLE dst AS SELECT *, gone + 1 AS g FROM src",
        {"i": ["i"], "s": ["s"], "g": ["gone"]},
    ),
    (
        "ALTER TABLE ADD of virtual metadata to an inferred table",
        [I_S, AB],
        ["ALTER TABLE src ADD (`headers` MAP<BYTES, BYTES> METADATA VIRTUAL)"],
        "INSERT INTO dst SELECT CAST(headers['h'] AS STRING), s FROM src",
        {"a": ["headers"], "b": ["s"]},
    ),
    (
        "in the star, too",
        [I_S],
        ["ALTER TABLE src ADD part INT METADATA FROM 'partition' VIRTUAL"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"key": ["key"], "i": ["i"], "s": ["s"], "part": ["part"]},
    ),
    (
        "ALTER TABLE ADD of a computed column, in its place",
        [I_S],
        ["ALTER TABLE src ADD up AS UPPER(s) AFTER i"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"key": ["key"], "i": ["i"], "up": ["up"], "s": ["s"]},
    ),
    (
        "ALTER TABLE ADD of a physical column before its schema is read",
        [I_S],
        ["ALTER TABLE src ADD z INT"],
        "CREATE TABLE dst AS SELECT z, s FROM src",
        {"z": ["z"], "s": ["s"]},
    ),
    (
        "ALTER TABLE ADD of several, to a table with a CREATE TABLE",
        [I_S],
        [f"{CREATED})", "ALTER TABLE src ADD (up AS UPPER(s), o BIGINT METADATA FROM 'offset' VIRTUAL)"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"i": ["i"], "s": ["s"], "up": ["up"], "o": ["o"]},
    ),
    (
        "ALTER TABLE DROP of what was added",
        [I_S],
        ["ALTER TABLE src ADD up AS UPPER(s)", "ALTER TABLE src DROP up"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"key": ["key"], "i": ["i"], "s": ["s"]},
    ),
    (
        "metadata hides a registered column",
        [avro("src-value", {"uid": "int", "timestamp": "string"})],
        ["ALTER TABLE src ADD `timestamp` TIMESTAMP_LTZ(3) NOT NULL METADATA"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"key": ["key"], "uid": ["uid"], "timestamp": ["timestamp"]},
    ),
    (
        "ALTER TABLE RENAME of a metadata column",
        [I_S],
        ["ALTER TABLE src ADD p INT METADATA FROM 'partition' VIRTUAL", "ALTER TABLE src RENAME p TO part"],
        "CREATE TABLE dst AS SELECT part, s FROM src",
        {"part": ["part"], "s": ["s"]},
    ),
    (
        "ALTER TABLE MODIFY of the raw key",
        [I_S],
        ["ALTER TABLE src MODIFY `key` STRING"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"key": ["key"], "i": ["i"], "s": ["s"]},
    ),
    (
        "watermarks change no column",
        [I_S],
        [
            "ALTER TABLE src MODIFY WATERMARK FOR $rowtime AS $rowtime - INTERVAL '2' SECOND",
            "ALTER TABLE src DROP WATERMARK",
        ],
        "CREATE TABLE dst AS SELECT s, `$rowtime` AS t FROM src",
        {"s": ["s"], "t": ["$rowtime"]},
    ),
    (
        "subjects that ALTER TABLE names",
        [avro("com.acme.A", {"x": "string"}), avro("com.acme.B", ROW)],
        [
            "ALTER TABLE src SET ('value.format' = 'avro-registry', "
            "'value.avro-registry.subject-names' = 'com.acme.A;com.acme.B')"
        ],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"key": ["key"], "R": ["R"], "Value": ["Value"]},
    ),
    (
        "LIKE an inferred table",
        [I_S],
        ["CREATE TABLE copy (extra STRING) LIKE src"],
        "CREATE TABLE dst AS SELECT extra, s FROM copy",
        {"extra": ["copy.extra"], "s": ["copy.s"]},
    ),
    (
        "the options of a temporary table are those of no other",
        [I_S],
        ["CREATE TEMPORARY TABLE src (x INT) WITH ('value.format' = 'raw')"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"key": ["key"], "i": ["i"], "s": ["s"]},
    ),
    (
        "a table that was dropped is inferred again",
        [I_S],
        [f"{CREATED}, up AS UPPER(s))", "DROP TABLE src"],
        "CREATE TABLE dst AS SELECT * FROM src",
        {"key": ["key"], "i": ["i"], "s": ["s"]},
    ),
]


@pytest.mark.parametrize(
    ("schemas", "before", "query", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_columns_of_a_topics_table(
    world: FakeConfluent,
    parser: FlinkSqlParser,
    schemas: list[dict[str, Any]],
    before: list[str],
    query: str,
    expected: dict[str, list[str]],
) -> None:
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*map(topic, ("src", "dst", "copy")))
    world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = schemas
    world.routes[flink_path("us-east-1")] = listing(
        *(
            statement(f"s{number}", sql, "COMPLETED", created_at=f"2025-01-0{number}T00:00:00Z")
            for number, sql in enumerate(before, 1)
        ),
        statement("job", query),
    )
    found = discover(settings(), transport=world.transport, parser=parser)
    job = found.graph.nodes[ids.flink_job_id("env-1", "aws", "us-east-1", "job")]
    dst = ids.topic_id("env-1", "lkc-a", "dst")
    columns = {
        flow.column.name: [
            source.name if source.node_id.endswith("/src") else f"{source.node_id[-4:]}.{source.name}"
            for source, _ in flow.sources
        ]
        for flow in flows_of(job)
        if flow.column.node_id == dst
    }
    assert columns == expected
    assert list(columns) == list(expected)
    assert [flow.reason for flow in flows_of(job) if not flow.complete] == []
    assert further_columns_of(job) == {}
