"""Loads topics into Iceberg tables until it has caught up, and reports each step as a line of JSON.

    python benchmarks/topic_loader.py '{"bootstrap": "127.0.0.1:9092", ...}'

It is the process that `topic_to_iceberg.py` measures; its argument is a `Load`.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from orders import KEY_ID, VALUE_ID, Format, Values, schemas_of

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.kafka import SparkTopic
from lineage_bridge_dagster.spark.session import LOADING, spark_session
from lineage_bridge_dagster.topic_to_iceberg.loading.model import LoadStep, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CATALOG = "lake"
_print = threading.Lock()


@dataclass(frozen=True, slots=True)
class Load:
    """What to load.

    Attributes:
        bootstrap: the brokers.
        topics: names of the topics; each goes to the table of its name.
        catalog: the fields of CatalogSettings.
        namespace: of the tables.
        location: folder of the tables.
        format: of the records.
        values: what they have besides.
        mode: `append` or `upsert`.
        max_records: read in a step.
        raw_columns: whether rows have the bytes of key and value.
        threads: tables that are loaded at once.
        properties: further properties of the tables.
        spark: Spark's configuration.
    """

    bootstrap: str
    topics: list[str]
    catalog: dict[str, Any]
    namespace: str
    location: str
    format: Format = "avro"
    values: Values = "plain"
    mode: Literal["append", "upsert"] = "append"
    max_records: int = 1_000_000
    raw_columns: bool = True
    threads: int = 1
    properties: dict[str, str] = field(default_factory=dict)
    spark: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """The argument of this program."""
        return json.dumps(asdict(self))


def main() -> None:
    """Load, and print the events `ready`, `step` and `done`."""
    load = Load(**json.loads(sys.argv[1]))
    spark = session_of(load)
    _event("ready")
    with ThreadPoolExecutor(load.threads) as pool:
        list(pool.map(lambda topic: load_topic(spark, load, topic, _report), load.topics))
    rows = sum(spark.table(_table(load, topic).sql).count() for topic in load.topics)
    _event("done", rows=rows)
    spark.stop()


def session_of(load: Load) -> SparkSession:
    """The session that a load needs."""
    catalogs = Catalogs.of(CatalogSettings(name=_CATALOG, **load.catalog))
    spark = spark_session(catalogs, {**LOADING, **load.spark}, app_name="topic-to-iceberg-benchmark")
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def load_topic(
    spark: SparkSession, load: Load, topic: str, report: Callable[[LoadStep, float], None] | None = None
) -> None:
    """Load a topic until it has caught up; report each step with its seconds."""
    key, value = schemas_of(load.format, load.values)
    kind = AVRO if load.format == "avro" else JSON
    schemas = TopicSchemas(
        SubjectSchemas(f"{topic}-key", (RegisteredSchema(KEY_ID, key, kind),)),
        SubjectSchemas(f"{topic}-value", (RegisteredSchema(VALUE_ID, value, kind),)),
    )
    config = TopicLoad(
        topic=topic,
        catalog=_CATALOG,
        database=load.namespace,
        table=topic,
        location=f"{load.location}/{topic}",
        batch_records=load.max_records,
        mode=load.mode,
        raw_columns=load.raw_columns,
        properties=load.properties,
    )
    source = SparkTopic(topic, Bootstrap.parse(load.bootstrap))
    table = TopicTable(spark, source, config, lambda: schemas)
    table.ensure()
    while True:
        started = time.perf_counter()
        step = table.advance()
        if report is not None:
            report(step, time.perf_counter() - started)
        if step.caught_up:
            return


def _report(step: LoadStep, seconds: float) -> None:
    _event("step", rows=step.records, seconds=round(seconds, 2))


def _table(load: Load, topic: str) -> TableName:
    return TableName(_CATALOG, load.namespace, topic)


def _event(name: str, **details: Any) -> None:
    with _print:
        print(json.dumps({"event": name, "at": time.time(), **details}), flush=True)


if __name__ == "__main__":
    main()
