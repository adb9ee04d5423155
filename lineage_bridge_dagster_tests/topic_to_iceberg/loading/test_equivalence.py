"""Whatever happens on the way, a table has what a model of its topic has, as every engine reads it.

A sequence is the random records of one partition: inserts, updates, deletes, deletes of what is not there,
records twice, records of an older schema after a newer one, within a batch and across batches. Partitions
have nothing to do with one another, so one table runs many sequences at once, through the same random events
between its batches: crashes at each step, compactions, pushed properties, a second writer. The tables of the
three modes go through all events between them.

`TOPIC_EQUIVALENCE_SEQUENCES` is the number of sequences of each mode, 24 unless it is set, and
`TOPIC_EQUIVALENCE_SEED` the number that they are random by.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import pytest
from pyiceberg.catalog import load_catalog

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.schemas.schemas import Mode
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.topic_to_iceberg.loading import topic_table as module
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SecondWriterError, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.staging import StagedTable
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import (
    ORDER_V1,
    ORDER_V2,
    ORDERS,
    ORDERS_V1,
    InMemoryTopic,
    payload,
    subject,
)
from lineage_bridge_dagster_tests.spark_session import duckdb_reader, pyiceberg_properties
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

PARTITIONS = 24
SEQUENCES = int(os.environ.get("TOPIC_EQUIVALENCE_SEQUENCES", "24"))
SEED = int(os.environ.get("TOPIC_EQUIVALENCE_SEED", "1"))

MODES: tuple[Mode, ...] = ("append", "upsert", "debezium")
Event = Literal["none", "crash before", "crash after", "compaction", "properties", "second writer"]

EVENTS: tuple[Event, ...] = (
    "none",
    "crash before",
    "crash after",
    "compaction",
    "properties",
    "second writer",
)
KEY = {"type": "record", "name": "K", "fields": [{"name": "code", "type": "string"}]}
KEYS = subject("orders.v1-key", (3, KEY))
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "after", "type": ["null", ORDER_V2], "default": None},
        {"name": "op", "type": "string"},
    ],
}

#: What a record does: its key, the cents of the row (None for none), whether the schema is the newer one, and
#: whether the record is there twice. A row of -1 is a deletion.
Record = tuple[int, int | None, bool, bool]


def random_record(source: random.Random, *, may_be_newer: bool) -> Record:
    cents = source.choice([None, 1, 2, -1, -1])
    newer = may_be_newer and source.random() < 0.5
    return source.randrange(4), cents, newer, source.random() < 0.5


class Crash(Exception):
    """The process ends here."""


class Run:
    """A topic, its table and their model: (partition, key) -> the row, or a list of all rows."""

    def __init__(self, spark: SparkSession, name: TableName, mode: Mode) -> None:
        self.spark = spark
        self.mode = mode
        self.topic = InMemoryTopic(partitions={p: [] for p in range(PARTITIONS)})
        self.config = load_into(name.database, name.table, mode=mode, batch_records=100)
        self.evolved = False
        self.count = 0
        self.rows: list[tuple[Any, ...]] = []
        self.by_key: dict[tuple[int, str], tuple[Any, ...]] = {}

    def schemas(self) -> TopicSchemas:
        if self.mode == "debezium":
            return TopicSchemas(KEYS, subject("orders.v1-value", (5, ENVELOPE)))
        return TopicSchemas(KEYS, ORDERS if self.evolved else ORDERS_V1)

    def writer(self) -> TopicTable:
        table = TopicTable(self.spark, self.topic, self.config, self.schemas)
        table.ensure()
        return table

    def add(self, partition: int, record: Record) -> None:
        number, cents, newer, twice = record
        # Longer than a key that is compared as it is, and alike but for the end.
        code = "k" * (300 if number > 1 else 3) + str(number)
        deletes = cents == -1
        self.count += 1
        newer = newer or self.mode == "debezium"
        self.evolved = self.evolved or (newer and not deletes)
        row = {"id": self.count, "item": f"item {self.count}", **({"cents": cents} if newer else {})}
        value: bytes | None
        if self.mode == "debezium":
            envelope = {"after": None if deletes else row, "op": "d" if deletes else "u"}
            value = None if deletes and twice else payload(5, ENVELOPE, envelope)
        elif deletes:
            value = None
        else:
            value = payload(9, ORDER_V2, row) if newer else payload(7, ORDER_V1, row)
        for _ in range(2 if twice else 1):
            self.topic.add(partition, value, key=payload(3, KEY, {"code": code}))
            stored = (
                partition,
                code,
                None if deletes else self.count,
                None if deletes or not newer else cents,
            )
            self.rows.append(stored)
            self.by_key.pop((partition, code), None)
            if not deletes:
                self.by_key[partition, code] = stored

    def expected(self) -> list[tuple[Any, ...]]:
        return sorted(self.rows if self.mode == "append" else self.by_key.values(), key=repr)

    def load(self, event: Event) -> None:
        with happening(self, event):
            writer = self.writer()
            try:
                while not writer.advance().caught_up:
                    pass
            except (Crash, SecondWriterError):
                pass
            else:
                return
        writer = self.writer()
        while not writer.advance().caught_up:
            pass


@contextmanager
def happening(run: Run, event: Event) -> Iterator[None]:
    """Have an event happen once, after the first batch is staged, or before it is."""
    publish, acted = StagedTable.publish, False
    other = run.writer() if event == "second writer" else None

    def act() -> None:
        nonlocal acted
        if acted:
            return
        acted = True
        if event == "crash after":
            raise Crash
        if other is not None:
            other.advance()
        if event == "compaction":
            database = run.config.name.database
            call = f"CALL glue.system.rewrite_data_files(table => '`{database}`.{run.config.name.table}', "
            run.spark.sql(f"{call}options => map('rewrite-all', 'true'))")
        if event == "properties":
            run.spark.sql(f"ALTER TABLE {run.config.name.sql} SET TBLPROPERTIES ('p' = '{run.count}')")

    def acting(table: StagedTable, staged: int, base: int | None) -> None:
        act()
        publish(table, staged, base)

    def crashing(*_: Any, **__: Any) -> None:
        raise Crash

    with pytest.MonkeyPatch.context() as patched:
        if event == "crash before":
            patched.setattr(module, "append" if run.mode == "append" else "merge", crashing)
        elif event != "none":
            patched.setattr(StagedTable, "publish", acting)
        yield


def check_readers(run: Run, catalog: CatalogSettings) -> None:
    """Check what Spark, PyIceberg and DuckDB read."""
    names = ("$$partition", "code", "id", *(("cents",) if run.evolved else ()))
    expected = [row[: len(names)] for row in run.expected()]

    def ordered(rows: Any) -> list[tuple[Any, ...]]:
        return sorted((tuple(row) for row in rows), key=repr)

    expected = ordered(expected)
    name = run.config.name
    assert ordered(run.spark.table(name.sql).select(*(f"`{each}`" for each in names)).collect()) == expected
    stored = load_catalog("glue", **pyiceberg_properties(catalog)).load_table((name.database, name.table))
    scanned = stored.scan(selected_fields=names).to_arrow().to_pylist()
    assert ordered([each[column] for column in names] for each in scanned) == expected
    columns = ", ".join(f'"{each}"' for each in names)
    with duckdb_reader(catalog) as duck:
        query = f"SELECT {columns} FROM iceberg_scan(?)"  # noqa: S608 - the test's own names
        assert ordered(duck.sql(query, params=[stored.metadata_location]).fetchall()) == expected


def events(mode: Mode, number: int) -> list[Event]:
    """Half of the events, in random order; those of one number leave out none in all modes together."""
    shuffled = random.Random(f"{SEED} {number}").sample(EVENTS, len(EVENTS))  # noqa: S311 - to be repeated
    start = MODES.index(mode) * len(EVENTS) // len(MODES)
    return [*shuffled[start:], *shuffled[:start]][: len(EVENTS) // 2]


@pytest.mark.parametrize("mode", MODES)
def test_table_equals_the_model(
    mode: Mode, spark: SparkSession, database: str, spark_catalog: CatalogSettings
) -> None:
    for number in range(-(-SEQUENCES // PARTITIONS)):
        source = random.Random(f"{SEED} {mode} {number}")  # noqa: S311 - to be repeated
        run = Run(spark, TableName("glue", database, f"orders_{number}"), mode)
        for index, event in enumerate(events(mode, number)):
            for partition in range(PARTITIONS):
                for _ in range(source.randrange(6)):
                    # The table is created before its columns evolve.
                    run.add(partition, random_record(source, may_be_newer=index > 0))
            run.load(event)
        check_readers(run, spark_catalog)
