"""SAP HANA by SAP's own connectors, with a table or a query for each topic.

Source: README.md of SAP/kafka-connect-sap.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.families.jdbc import query_flows
from lineage_bridge_dagster.confluent.connectors.family import (
    SinkContext,
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.relational import Database, database_of, name_parts

_PACKAGE = "com.sap.kafka.connect."


def _table(database: Database | None, name: str) -> str:
    return database.table(*database.folded(name_parts(name))) if database and name else ""


@source_family("sap-hana", "", _PACKAGE + "source.hana.HANASourceConnector")
def hana_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics of `topics`, each with `{topic}.table.name` or `{topic}.query`."""
    config = context.config
    database = database_of(config)
    for topic in config.items("topics"):
        query = config.get(f"{topic}.query")
        if query and config.get("queryMode").lower() == "query":
            yield from query_flows(context, database, query, topic)
        else:
            yield WrittenTopic(topic, _table(database, config.get(f"{topic}.table.name")))


@sink_family("sap-hana", "", _PACKAGE + "sink.hana.HANASinkConnector")
def hana_sink(context: SinkContext, topic: str) -> str:
    """The table of `{topic}.table.name`."""
    config = context.config
    return _table(database_of(config), config.get(f"{topic}.table.name"))
