"""A Confluent and a Glue in which tables come, change and go, and whose APIs fail."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from multiprocessing.managers import BaseManager
from typing import Any

import boto3
from glue_server import serve

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.state import new_tableflow
from lineage_bridge_dagster.embedded.world.filling import registry_client
from lineage_bridge_dagster.lineage.documents import KEY_SOURCE_TOPICS, KEY_UPSTREAM_CHAIN, PREFIX
from lineage_bridge_dagster_tests.catalogs.glue.light_glue import LightGlue
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator

_CLUSTER = world.ORDERS_PLATFORM
_POOL = world.POOLS[0]
#: What a catalog sync keeps of a table's parameters.
_SYNCED = ("table_type", "metadata_location")

#: Faults of Confluent: an error, a rate limit, a refusal, no answer in time, half of the pages, no JSON.
_FAULTS: tuple[dict[str, Any], ...] = (
    {"status": 500},
    {"status": 429, "retry_after": 1},
    {"status": 403},
    {"status": 401},
    {"delay": 3.0, "times": 2},
    {"partial_page": True},
    {"garbage": True},
)
_APIS = ("connect", "tableflow", "kafka", "schema_registry", "flink", "org", "cmk")
#: Calls a second beyond which Glue throttles.
_GLUE_RATE = 40
#: Faults of Glue: the status, the code and how many of a hundred calls have it, whatever their rate.
_GLUE_FAULTS = (
    (400, "ThrottlingException", 0),
    (500, "InternalServiceException", 30),
    (400, "AccessDeniedException", 100),
    (400, "ConcurrentModificationException", 30),
)


@dataclass
class Table:
    """A table of a topic that a Flink statement writes from another topic.

    Attributes:
        version: The fields of its schema grow with it.
        source: Which topic the statement reads; another one means another statement.
    """

    name: str
    version: int = 1
    source: int = 1

    @property
    def raw(self) -> str:
        return f"raw{self.source}.{self.name}"

    @property
    def topic(self) -> str:
        return f"{self.name}.v1"

    @property
    def statement(self) -> str:
        return f"copy{self.source}-{self.name}"

    @property
    def lineage(self) -> list[tuple[str, str]]:
        """Kind and name of each hop, the nearest first."""
        return [
            ("tableflow_table", f"{_CLUSTER.id}.{self.topic}"),
            ("topic", self.topic),
            ("flink_job", self.statement),
            ("topic", self.raw),
        ]

    @property
    def fields(self) -> list[str]:
        """The fields of its schema."""
        return [f"field_{number}" for number in range(2 + self.version)]


class ChangingWorld:
    """The emulator of Confluent, a Glue, and the tables that they have now.

    Args:
        tables: How many there are at any time.
        seed: Of all that is random.
    """

    def __init__(self, tables: int, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - which tables change
        self._tables: dict[str, Table] = {}
        self._gone: list[Table] = []
        self._made = 0
        self._changes: Counter[str] = Counter()
        self._faults = ExitStack()
        self._glue_fault: tuple[int, str, int] | None = None
        self._glue = LightGlue()
        self._emulator = ConfluentEmulator().__enter__()
        self._broker: Any = self._emulator.brokers[_CLUSTER.id]
        with self._changing("tableflow") as document:
            document["topics"].clear()
        with self._changing("statements") as document:
            for statements in document.values():
                statements.clear()
        self._url = serve(lambda _region, operation, body: self._answer(operation, body))
        self._client = boto3.client("glue", region_name=world.GLUE_REGION, endpoint_url=self._url)
        self._add(tables)

    def env(self) -> dict[str, str]:
        """The variables that point at both."""
        return {
            **self._emulator.env(),
            "LINEAGE_BRIDGE_CONFLUENT_MAX_ATTEMPTS": "1",
            "LINEAGE_BRIDGE_CONFLUENT_TIMEOUT_SECONDS": "2",
            "LINEAGE_BRIDGE_AWS_REGION": world.GLUE_REGION,
            "LINEAGE_BRIDGE_AWS_ENDPOINT_URL": self._url,
        }

    def names(self) -> list[str]:
        """The tables as `database/table`."""
        return [f"{_CLUSTER.database}/{topic}" for topic in self._tables]

    def changes(self) -> dict[str, int]:
        """How many tables have changed, in each way, and how often which API failed."""
        return dict(self._changes)

    def step(self) -> None:
        """Change about three percent of the tables, half a percent in each way that tables change."""
        few = max(1, len(self._tables) // 200)
        returning = self._gone[: few // 2 + len(self._gone) % 2]
        for table in returning:
            self._gone.remove(table)
        self._drop(few)
        self._add(few - len(returning), returning)
        for change in (self._evolve, self._rewire, self._sync, self._wipe):
            for table in self._some(few):
                change(table)
                self._changes[change.__name__.strip("_")] += 1

    def break_something(self) -> None:
        """Have one API of Confluent, or Glue, fail in some way until `mend`."""
        if self._random.random() < 0.3:
            self._glue_fault = self._random.choice(_GLUE_FAULTS)
            if "Throttling" in self._glue_fault[1]:
                self._glue.throttle(_GLUE_RATE)
            self._changes[f"glue: {self._glue_fault[1]}"] += 1
            return
        api, fault = self._random.choice(_APIS), self._random.choice(_FAULTS)
        self._faults.enter_context(self._emulator.fault(api=api, **fault))
        self._changes[f"{api}: {' '.join(map(str, next(iter(fault.items()))))}"] += 1

    def mend(self) -> None:
        """Have all APIs work."""
        self._glue_fault = None
        self._glue.throttle(None)
        self._faults.close()

    def wrong(self) -> dict[str, object]:
        """By name, the tables whose lineage in Glue is not what it should be, each with what Glue has."""
        found: dict[str, object] = {}
        pages = self._client.get_paginator("get_tables").paginate(DatabaseName=_CLUSTER.database)
        tables = {table["Name"]: table for page in pages for table in page["TableList"]}
        for name in tables.keys() ^ self._tables.keys():
            found[name] = "is in only one of Glue and the world"
        for name, table in self._tables.items():
            parameters = tables[name].get("Parameters", {})
            chain = json.loads(parameters.get(KEY_UPSTREAM_CHAIN, "[]"))
            fields = [
                each["name"]
                for hop in chain
                if hop["qualified_name"] == table.topic
                for each in hop.get("schema_fields", ())
            ]
            sources = parameters.get(KEY_SOURCE_TOPICS)
            shown = [(hop["kind"], hop["qualified_name"]) for hop in chain], fields, sources
            if shown != (table.lineage, table.fields, f"{table.topic},{table.raw}"):
                found[name] = shown
            elif table.statement not in tables[name].get("Description", ""):
                found[name] = tables[name].get("Description", "")
        return found

    def _add(self, count: int, returning: Sequence[Table] = ()) -> None:
        """Add tables with their topics, schemas and statements: new ones, and some that there were before."""
        new = [Table(f"orders-{self._made + number:05d}") for number in range(count)]
        self._made += count
        # Those that return are read from another topic now.
        new += [Table(table.name, table.version, table.source + 1) for table in returning]
        self._changes["new"] += count
        self._changes["returned"] += len(returning)
        for table in new:
            self._broker.create_topic(table.topic, 3, {})
            self._begin_statement(table)
        storage = {
            "kind": "ByobAws",
            "bucket_name": _CLUSTER.bucket,
            "provider_integration_id": _CLUSTER.provider_integration_id,
        }
        with self._changing("tableflow") as document:
            for table in new:
                found = new_tableflow(_CLUSTER, table.topic, storage=storage)
                found |= {"phase": "RUNNING", "sync_status": "SYNCED"}
                document["topics"][f"{_CLUSTER.id}/{table.topic}"] = found
                self._glue.add_table(_CLUSTER.database, self._input(table, found["table_path"]))
        with registry_client(self._emulator.url) as registry:
            for table in new:
                _register(registry, table)
        self._tables |= {table.topic: table for table in new}

    def _drop(self, count: int) -> None:
        """Drop tables with their topics, schemas and statements."""
        for table in self._some(count):
            self._end_statement(table)
            with self._changing("tableflow") as document:
                del document["topics"][f"{_CLUSTER.id}/{table.topic}"]
            with self._changing("schemas") as document:
                del document["subjects"][_subject(table)]
            self._broker.delete_topic(table.topic)
            self._glue.remove_table(_CLUSTER.database, table.topic)
            self._gone.append(self._tables.pop(table.topic))
            self._changes["dropped"] += 1

    def _begin_statement(self, table: Table) -> None:
        self._broker.create_topic(table.raw, 3, {})
        statement = world.Statement(
            table.statement,
            _POOL.id,
            f"INSERT INTO `{table.topic}` SELECT * FROM `{table.raw}`",  # noqa: S608
            "INSERT_INTO",
            world.ENVIRONMENT_NAME,
            _CLUSTER.name,
            principal=world.STATEMENTS[0].principal,
        )
        with self._changing("statements") as document:
            document[_POOL.region_id][table.statement] = asdict(statement)

    def _end_statement(self, table: Table) -> None:
        with self._changing("statements") as document:
            del document[_POOL.region_id][table.statement]
        self._broker.delete_topic(table.raw)

    def _some(self, count: int) -> list[Table]:
        names = sorted(self._tables)
        return [self._tables[name] for name in self._random.sample(names, min(count, len(names)))]

    def _evolve(self, table: Table) -> None:
        """Add a field to the schema, and the column to the table, as Tableflow does."""
        table.version += 1
        with registry_client(self._emulator.url) as registry:
            _register(registry, table)
        self._sync(table, keep=True)

    def _rewire(self, table: Table) -> None:
        """Replace the statement by one that reads another topic."""
        self._end_statement(table)
        table.source += 1
        self._begin_statement(table)

    def _sync(self, table: Table, *, keep: bool = False) -> None:
        """Write the table as a catalog sync does: its own parameters, and all others only with `keep`."""
        held = self._client.get_table(DatabaseName=_CLUSTER.database, Name=table.topic)["Table"]
        written: Any = self._input(table, held["StorageDescriptor"]["Location"])
        if keep:
            written["Parameters"] = {**held["Parameters"], **written["Parameters"]}
            written["Description"] = held.get("Description", "")
        self._write(table, written)

    def _wipe(self, table: Table) -> None:
        """Take our parameters away, and leave the description."""
        held: Any = self._client.get_table(DatabaseName=_CLUSTER.database, Name=table.topic)["Table"]
        written = self._input(table, held["StorageDescriptor"]["Location"])
        written["Description"] = held.get("Description", "")
        kept = {name: value for name, value in held["Parameters"].items() if not name.startswith(PREFIX)}
        self._write(table, {**written, "Parameters": kept})

    def _write(self, table: Table, table_input: dict[str, Any]) -> None:
        assert table_input["Name"] == table.topic
        self._client.update_table(DatabaseName=_CLUSTER.database, TableInput=table_input, SkipArchive=True)

    def _input(self, table: Table, location: str) -> dict[str, Any]:
        columns = [{"Name": name, "Type": "string", "Comment": ""} for name in table.fields]
        metadata = f"{location}/metadata/{self._random.getrandbits(48):012x}.metadata.json"
        return {
            "Name": table.topic,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": dict(zip(_SYNCED, ("ICEBERG", metadata), strict=True)),
            "StorageDescriptor": {"Location": location, "Columns": columns},
        }

    def _answer(self, operation: str, body: bytes) -> tuple[int, bytes]:
        fault = self._glue_fault
        if fault and self._random.random() * 100 < fault[2]:
            status, code, _ = fault
            return status, json.dumps({"__type": code, "Message": "as the benchmark wants"}).encode()
        return self._glue.answer(operation, body)

    def _changing(self, kind: str) -> Any:
        return self._emulator.app.state.changing(kind)


def _subject(table: Table) -> str:
    return f"{table.topic}-value"


def _register(registry: Any, table: Table) -> None:
    fields = [{"name": name, "type": ["null", "string"], "default": None} for name in table.fields]
    schema = {"type": "record", "name": "Order", "fields": fields}
    answer = registry.post(f"/subjects/{_subject(table)}/versions", json={"schema": json.dumps(schema)})
    answer.raise_for_status()


class WorldProcess(BaseManager):
    """A process for a world, whose time and memory are so not the platform's."""

    ChangingWorld: Callable[[int, int], Any]


WorldProcess.register("ChangingWorld", ChangingWorld)
