"""Google BigQuery.

Sources: TableNameUtils of the connector first published by WePay and continued by Confluent and Aiven,
its TopicToTableResolver before version 2.0, and the templates of Confluent's managed connectors.
"""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import keyed, per_topic
from lineage_bridge_dagster.confluent.connectors.family import SinkContext, sink_family
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, full_matches, replace_whole


def sanitized(name: str) -> str:
    """A name of letters, digits and underscores that does not start with a digit."""
    text = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    return f"_{text}" if text[:1].isdigit() else text


def _by_expression(context: SinkContext, key: str, topic: str) -> str:
    """The value for a topic in a map from expressions, as before version 2.0: `regex=value,...`."""
    for expression, value in context.config.pairs(key, "=").items():
        try:
            if full_matches(expression, [topic]):
                return replace_whole(expression, value, topic)
        except BadRegexError as error:
            context.warnings.append(f"{key}: cannot apply {error}")
    return ""


def _default_dataset(context: SinkContext, topic: str) -> str:
    """The dataset of all topics, or of those that an expression matches."""
    config = context.config
    if dataset := config.get("defaultDataset"):
        return dataset
    listed = config.items("datasets")
    if len(listed) == 1 and "=" not in listed[0]:
        return listed[0]
    dataset = _by_expression(context, "datasets", topic)
    if listed and not dataset:
        context.warnings.append(f"datasets names none for {topic}")
    return dataset


def _sanitizes(config: Config) -> bool:
    managed = "." not in config.get("connector.class")
    return config.flag("sanitize.topics", managed) or config.flag("sanitizeTopics")


@sink_family(
    "bigquery",
    "BigQuerySink BigQueryStorageSink",
    "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector",
    "com.aiven.kafka.connect.bigquery.BigQuerySinkConnector",
    "io.aiven.kafka.connect.bigquery.BigQuerySinkConnector",
    "io.confluent.connect.bigquerystorage.BigQueryStorageSinkConnector",
)
def bigquery(context: SinkContext, topic: str) -> str:
    """The table of a topic; a router may have made `dataset:table` of the topic."""
    config = context.config
    dataset = _default_dataset(context, topic)
    managed, own = config.pairs("topic2table.map"), config.pairs("topic2TableMap")
    if managed or own:
        # Neither does the connector sanitize the topics that the map lacks.
        table = own.get(topic) or managed.get(topic) or topic
    else:
        prefix, _, table = topic.rpartition(":")
        dataset = prefix or dataset
        table = _by_expression(context, "topicsToTables", topic) or table
        table = sanitized(table) if _sanitizes(config) else table
    return naming.BIGQUERY(project=config.get("project"), dataset=dataset, table=table)


sink_family("bigquery-table", "", "com.reproio.kafka.connect.bigquery.BigqueryStorageWriteSinkConnector")(
    per_topic(keyed(naming.BIGQUERY, project="project", dataset="dataset", table="table"))
)
