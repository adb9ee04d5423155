"""Distributed stores of the Java world: HBase, MapR and GemFire."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families.common import keyed, named_by_topic, per_topic
from lineage_bridge_dagster.confluent.connectors.family import SinkContext, sink_family


@sink_family("mapr", "", "io.confluent.connect.mapr.db.MapRDbSinkConnector")
def mapr(context: SinkContext, topic: str) -> str:
    """A table by its path in MapR's file system, which starts with the cluster's name."""
    return naming.MAPR_DB(table=context.config.get(f"mapr.table.map.{topic}"))


# A table, at the first host of the ZooKeeper quorum.
sink_family("hbase", "", "io.confluent.connect.hbase.HBaseSinkConnector")(
    named_by_topic(
        keyed(
            naming.HBASE,
            host="hbase.zookeeper.quorum",
            port="hbase.zookeeper.property.clientPort",
            table="table.name.format = ${topic}",
        )
    )
)
sink_family("gemfire", "", "io.confluent.connect.pivotal.gemfire.PivotalGemfireSinkConnector")(
    per_topic(keyed(naming.GEMFIRE, "gemfire.", host="locator.host", port="locator.port", region="region"))
)
