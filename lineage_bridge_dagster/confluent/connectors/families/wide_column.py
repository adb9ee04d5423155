"""Distributed stores of the Java world: HBase, MapR and GemFire."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families.common import table_name
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext


def hbase(context: SinkContext, topic: str) -> str:
    """A table, at the first host of the ZooKeeper quorum."""
    config = context.config
    return naming.HBASE(
        host=config.get("hbase.zookeeper.quorum"),
        port=config.get("hbase.zookeeper.property.clientPort"),
        table=table_name(config, topic),
    )


def mapr(context: SinkContext, topic: str) -> str:
    """A table by its path in MapR's file system, which starts with the cluster's name."""
    return naming.MAPR_DB(table=context.config.get(f"mapr.table.map.{topic}"))


def gemfire(context: SinkContext, _topic: str) -> str:
    config = context.config
    return naming.GEMFIRE(
        host=config.get("gemfire.locator.host"),
        port=config.get("gemfire.locator.port"),
        region=config.get("gemfire.region"),
    )


SINKS = (
    Family("hbase", (), ("io.confluent.connect.hbase.HBaseSinkConnector",), sink=hbase),
    Family("mapr", (), ("io.confluent.connect.mapr.db.MapRDbSinkConnector",), sink=mapr),
    Family(
        "gemfire",
        (),
        ("io.confluent.connect.pivotal.gemfire.PivotalGemfireSinkConnector",),
        sink=gemfire,
    ),
)
