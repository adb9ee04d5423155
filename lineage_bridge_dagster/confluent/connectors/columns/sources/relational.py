"""Rows of tables and queries, by JDBC sources and by sources with the same settings.

Sources: `TableQuerier` and `SchemaMapping` of confluentinc/kafka-connect-jdbc, which Aiven's and the managed
connectors share; "Oracle CDC Source Connector for Confluent Platform", which writes the row and fields of
metadata with names by `output.*.field`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    MADE_UP,
    ConnectRecord,
    RecordNode,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.columns.sources.query import query_row
from lineage_bridge_dagster.confluent.connectors.columns.sources.topic import SourceTopic, reads

#: Settings of the Oracle CDC connector that name fields of metadata, with their defaults.
_ORACLE_FIELDS = {
    "output.table.name.field": "table",
    "output.scn.field": "scn",
    "output.op.type.field": "op_type",
    "output.op.ts.field": "op_ts",
    "output.current.ts.field": "current_ts",
    "output.row.id.field": "row_id",
    "output.username.field": "username",
}
_OUTPUT_FIELD = re.compile(r"output\..+\.field")
_BEFORE = "output.before.state.field"


@reads(
    "jdbc",
    "jdbc-postgres",
    "jdbc-mysql",
    "jdbc-sqlserver",
    "jdbc-oracle",
    "jdbc-db2",
    "snowflake",
    "sap-hana",
    "kudu",
)
def jdbc(topic: SourceTopic) -> ConnectRecord:
    """A field for each column of the table or the query; the key is null."""
    query = topic.config.get("query")
    return ConnectRecord(None, query_row(topic, query) if query else topic.row())


@reads("oracle-cdc")
def oracle_cdc(topic: SourceTopic) -> ConnectRecord:
    """The row beside fields of metadata. The topic of the redo log has no columns."""
    config = topic.config
    if topic.topic == config.get("redo.log.topic.name"):
        reason = "it holds raw redo records of all captured tables"
        return ConnectRecord(None, RecordNode(open=True, unknown=reason))
    row = topic.row()
    names = [config.get(key, default=name) for key, name in _ORACLE_FIELDS.items()]
    names += [config.get(match[0]) for match in config.keys_like(_OUTPUT_FIELD) if match[0] != _BEFORE]
    fields = {**row.known, **dict.fromkeys(names, MADE_UP)}
    if before := config.get(_BEFORE):
        fields[before] = row
    key = config.get("key.template", default="${primaryKeyStructOrValue}")
    return ConnectRecord(
        topic.any_field() if "primaryKey" in key else struct({}), replace(row, fields=fields)
    )
