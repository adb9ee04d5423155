"""Debezium's placeholders for values that it did not get, and its truncate events."""

from __future__ import annotations

import base64
import hashlib
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.schemas.debezium import GEOMETRIES
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.topic_to_iceberg.loading.model import LoadStep, SuspendedError, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import InMemoryTopic, payload, subject
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]}
GEOMETRY = {
    "type": "record",
    "name": "Geometry",
    "fields": [{"name": "wkb", "type": "bytes"}, {"name": "srid", "type": ["null", "int"]}],
}
#: A column of each type that can be out of line: its Avro type, and a value.
COLUMNS: dict[str, tuple[Any, Any]] = {
    "doc": ("string", "long text"),
    "encoded": ("string", "AAAA"),
    "hexed": ("string", "00ff"),
    "pairs": ("string", '{"a":"b"}'),
    "raw": ("bytes", b"\0\xff"),
    "words": ({"type": "array", "items": ["null", "string"]}, ["a", None]),
    "ids": ({"type": "array", "items": "string"}, [str(uuid.UUID(int=1))]),
    "blobs": ({"type": "array", "items": "bytes"}, [b"\1"]),
    "ints": ({"type": "array", "items": "int"}, [1, 2]),
    "longs": ({"type": "array", "items": ["null", "long"]}, [2**40]),
    "hstore": ({"type": "map", "values": ["null", "string"]}, {"k": "v"}),
    "place": (GEOMETRY, {"wkb": b"\1\2", "srid": 4326}),
}
STORED = {name: value for name, (_, value) in COLUMNS.items()}
NOTHING = dict.fromkeys(COLUMNS)


def placeholders(octets: bytes) -> dict[str, Any]:
    """What Debezium writes for each column that did not change, after its `UnchangedToastedPlaceholder`."""
    text = octets.decode(errors="replace")
    named = uuid.UUID(bytes=hashlib.md5(octets, usedforsecurity=False).digest(), version=3)
    signed = [each - 256 if each > 127 else each for each in octets]
    return {
        "doc": text,
        "encoded": base64.b64encode(octets).decode(),
        "hexed": octets.hex(),
        "pairs": f'{{"{text}":"{text}"}}',
        "raw": octets,
        "words": [text],
        "ids": [str(named)],
        "blobs": [octets],
        "ints": signed,
        "longs": signed,
        "hstore": {text: text},
        "place": {"wkb": GEOMETRIES[0], "srid": 4326},
    }


UNCHANGED = placeholders(b"__debezium_unavailable_value")


def row(name: str, *more: dict[str, Any]) -> dict[str, Any]:
    fields = [{"name": column, "type": ["null", kind]} for column, (kind, _) in COLUMNS.items()]
    return {"type": "record", "name": name, "fields": [{"name": "id", "type": "int"}, *fields, *more]}


ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "shop.public.orders",
    "fields": [
        {"name": "before", "type": ["null", row("Value")], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "op", "type": "string"},
    ],
}
MARK = {"name": "__op", "type": ["null", "string"], "default": None}
FLAT = row("shop.public.orders.Value")
MARKED = row("Anything", MARK)


class Source:
    """A topic that Debezium writes, and its table."""

    def __init__(
        self, spark: SparkSession, database: str, schema: dict[str, Any] = ENVELOPE, **options: Any
    ) -> None:
        self.topic, self._spark, self._schema = InMemoryTopic(partitions={0: []}), spark, schema
        self.name = TableName("glue", database, f"t{uuid.uuid4().hex[:8]}")
        config = load_into(database, self.name.table, **{"mode": "debezium", **options})
        schemas = TopicSchemas(subject("k", (3, KEY)), subject("v", (5, schema)))
        self.table = TopicTable(spark, self.topic, config, lambda: schemas)
        self.table.ensure()

    def add(self, op: str, number: int | None, values: Any = STORED, *, partition: int = 0) -> None:
        image = None if op in "dt" else {"id": number, **values}
        value: Any = {"before": None, "after": image, "op": op}
        if self._schema is not ENVELOPE:
            value = {**(image or {"id": number}), "__op": op}
        key = None if number is None else payload(3, KEY, {"id": number})
        self.topic.add(partition, payload(5, self._schema, value), key=key)

    def advance(self) -> LoadStep:
        return self.table.advance()

    def rows(self, *columns: str) -> dict[int, dict[str, Any]]:
        found = self._spark.table(self.name.sql).select("id", *(columns or COLUMNS)).collect()
        return {each.id: _without_id(each.asDict(recursive=True)) for each in found}


def _without_id(found: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in found.items() if name != "id"}


@pytest.mark.parametrize(
    ("schema", "mode"),
    [(ENVELOPE, "debezium"), (MARKED, "debezium"), (FLAT, "upsert")],
    ids=["envelopes", "flattened", "upserts of flattened ones"],
)
def test_value_that_did_not_change_is_kept(
    spark: SparkSession, database: str, schema: Any, mode: str
) -> None:
    source = Source(spark, database, schema, mode=mode)
    source.add("c", 1)
    source.add("c", 2)
    source.add("u", 2, UNCHANGED)
    # Debezium began after the row was inserted, so nothing is known of it.
    source.add("u", 3, UNCHANGED)
    source.add("c", 5)
    done = source.advance()
    assert (done.records, done.unavailable) == (5, len(COLUMNS))
    assert source.rows() == {1: STORED, 2: STORED, 3: NOTHING, 5: STORED}

    changed = {**STORED, "doc": "new", "hstore": {"k": None}}
    source.add("u", 1, UNCHANGED)
    source.add("u", 4, {**UNCHANGED, "doc": "text"})
    source.add("u", 5, changed)
    source.add("u", 5, UNCHANGED)
    # A null that Debezium did get is a value.
    source.add("u", 2, {**UNCHANGED, "doc": None})
    source.add("u", 2, UNCHANGED)
    done = source.advance()
    assert (done.records, done.unavailable) == (6, len(COLUMNS) - 1)
    assert source.rows() == {
        1: STORED,
        2: {**STORED, "doc": None},
        3: NOTHING,
        4: {**NOTHING, "doc": "text"},
        5: changed,
    }


def test_placeholder_is_that_of_the_setting(spark: SparkSession, database: str) -> None:
    source, octets = Source(spark, database, unavailable_value="hex:ff00"), b"\xff\0"
    source.add("c", 1)
    source.add("u", 1, {**STORED, "raw": octets, "ints": placeholders(octets)["ints"]})
    source.add("c", 2, {**STORED, "doc": UNCHANGED["doc"]})
    source.advance()
    kept = {name: STORED[name] for name in ("raw", "ints", "doc")}
    assert source.rows(*kept) == {1: kept, 2: {**kept, "doc": UNCHANGED["doc"]}}


def test_appended_value_that_did_not_change_is_null_and_counted(spark: SparkSession, database: str) -> None:
    envelopes = Source(spark, database, mode="append")
    envelopes.add("c", 1)
    envelopes.add("u", 1, {**STORED, "doc": UNCHANGED["doc"], "raw": UNCHANGED["raw"]})
    assert envelopes.advance().unavailable == 2
    found = spark.table(envelopes.name.sql).orderBy("$$offset").collect()
    assert [(each.after.doc, each.after.hexed) for each in found] == [("long text", "00ff"), (None, "00ff")]

    flat = Source(spark, database, FLAT, mode="append", failures="skip")
    flat.add("c", 1, {**STORED, "doc": UNCHANGED["doc"]})
    assert flat.advance().unavailable == 1
    assert flat.rows("doc", "hexed") == {1: {"doc": None, "hexed": "00ff"}}


def test_truncation_stops_the_table_and_says_what_it_is(spark: SparkSession, database: str) -> None:
    source = Source(spark, database)
    source.add("c", 1)
    source.advance()
    source.add("t", None)
    with pytest.raises(
        SuspendedError, match=r"partition 0 offset 1: it is Debezium's truncate event .op t."
    ) as raised:
        source.advance()
    assert raised.value.hint.startswith("Set truncations: apply to delete the rows here too.")
    assert "producer" not in raised.value.hint
    assert source.rows("doc") == {1: {"doc": "long text"}}


def test_truncation_is_applied_on_request(spark: SparkSession, database: str) -> None:
    source = Source(spark, database, truncations="apply")
    source.add("c", 1)
    source.add("c", 2)
    source.add("t", None)
    source.add("c", 3)
    assert source.advance().records == 4
    assert set(source.rows("doc")) == {3}
    source.add("c", 4)
    source.advance()
    # A key that comes back, one that does not, and one whose row goes with the second truncation.
    source.add("t", None)
    source.add("c", 5)
    source.add("t", None)
    source.add("c", 4, {**STORED, "doc": "again"})
    done = source.advance()
    assert (done.records, done.removed) == (4, 2)
    assert source.rows("doc") == {4: {"doc": "again"}}
    source.add("t", None)
    source.advance()
    assert source.rows("doc") == {}


def test_truncation_of_several_partitions_has_no_order(spark: SparkSession, database: str) -> None:
    source = Source(spark, database, truncations="apply")
    source.topic.partitions[1] = []
    source.add("c", 1, partition=1)
    source.add("t", None)
    with pytest.raises(SuspendedError, match="the topic has 2 partitions") as raised:
        source.advance()
    assert "one partition" in raised.value.hint
    assert source.rows("doc") == {}
