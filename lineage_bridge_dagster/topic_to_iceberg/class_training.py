"""Records the archive of classes with which Spark starts faster where it loads topics, for an image.

    python -m lineage_bridge_dagster.topic_to_iceberg.class_training

It needs no network: it loads records of its own into tables of a folder, and asks for brokers and a Glue
catalog where there are none, which loads the classes of their clients.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, Mode, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.framing import prefix_of
from lineage_bridge_dagster.spark.kafka import Offsets, SparkTopic
from lineage_bridge_dagster.spark.session import LOADING, spark_session
from lineage_bridge_dagster.topic_to_iceberg.loading.model import RECORD_DDL, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CATALOG, _NOWHERE = "training", "127.0.0.1:9"
_AVRO = (
    '{"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "name", "type": ["null", "string"]}]}'
)
_JSON = '{"properties": {"id": {"type": "integer"}, "name": {"type": ["null", "string"]}}}'
#: Format -> schema and body of a record.
_FORMATS = {AVRO: (_AVRO, b"\x02\x02\x02a"), JSON: (_JSON, b'{"id": 1, "name": "a"}')}
#: A client gives up at once.
_IMPATIENT = {"kafka.default.api.timeout.ms": "1000", "kafka.request.timeout.ms": "500"} | dict.fromkeys(
    ("fetchOffset.numRetries", "fetchOffset.retryIntervalMs"), "1"
)


def main() -> int:
    """Record it. Returns the exit code."""
    os.environ["LINEAGE_BRIDGE_CLASS_ARCHIVES"] = "record"
    os.environ |= {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    glue = CatalogSettings(region="us-east-1", warehouse="s3://nowhere/", glue_endpoint=f"http://{_NOWHERE}")
    with tempfile.TemporaryDirectory() as folder:
        prefix = f"spark.sql.catalog.{_CATALOG}"
        own = {prefix: "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.type": "hadoop"}
        conf = {"spark.master": "local[2]", **LOADING, **own, f"{prefix}.warehouse": folder}
        spark = spark_session(Catalogs.of(glue), conf, is_brief=True)
        _load(spark, AVRO, "append")
        _load(spark, JSON, "append")
        _load(spark, AVRO, "upsert")
        _ask_nobody(spark)
    return 0


def _load(spark: SparkSession, kind: str, mode: Mode) -> None:
    """Load two batches of a record each."""
    text, body = _FORMATS[kind]
    subjects = [SubjectSchemas(side, (RegisteredSchema(1, text, kind),)) for side in ("key", "value")]
    name, payload = f"{kind}_{mode}".lower(), prefix_of(1) + body

    def read(session: SparkSession, start: Offsets, end: Offsets, **_: object) -> DataFrame:
        rows = [(payload, payload, name, 0, at, utc_now(), 0, None) for at in range(start[0], end[0])]
        return session.createDataFrame(rows, RECORD_DDL).repartition(1)

    topic: Any = SimpleNamespace(name=name, topic_id=lambda: "", bounds=lambda: ({0: 0}, {0: 2}), read=read)
    load = TopicLoad(topic=name, catalog=_CATALOG, database="d", table=name, mode=mode)
    table = TopicTable(spark, topic, load, lambda: TopicSchemas(*subjects))
    table.ensure()
    for until in (1, 2):
        table.advance({0: until})


def _ask_nobody(spark: SparkSession) -> None:
    """Have the clients of brokers and of AWS try to connect."""
    with suppress(Exception):
        spark.sql("SHOW NAMESPACES IN glue").collect()
    with suppress(Exception):
        SparkTopic("none", Bootstrap.parse(_NOWHERE)).read(spark, {0: 0}, {0: 1}, _IMPATIENT).collect()


if __name__ == "__main__":
    sys.exit(main())
