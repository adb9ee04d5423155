"""Amazon DynamoDB."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families.common import table_name
from lineage_bridge_dagster.confluent.connectors.family import (
    SinkContext,
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)

#: `dynamodb.us-east-1.amazonaws.com`, with or without FIPS, VPC endpoint or China's domain.
_REGION = re.compile(r"\b((?:us|eu|ap|sa|ca|me|af|il|mx|cn)(?:-[a-z]{1,12}){1,2}-\d)\b")


def _region(*values: str) -> str:
    """The first region that is named in an endpoint or is itself a value."""
    return next((found[1] for value in values if (found := _REGION.search(value.lower()))), "")


@source_family("dynamodb", "DynamoDbCdcSource", "io.confluent.connect.dynamodb.DynamoDBSourceConnector")
def dynamodb_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """The tables of the include list, each with a topic of its name. An item may be an ARN.

    Tables discovered by tags are not known from the configuration.
    """
    config = context.config
    region = _region(
        config.get("dynamodb.service.endpoint"),
        config.get("aws.dynamodb.region", "dynamodb.region", "aws.region"),
        config.get("kafka.region") if config.get("cloud.provider", default="aws").lower() == "aws" else "",
    )
    tables = config.items("dynamodb.table.includelist")
    if config.get("dynamodb.table.discovery.mode").upper() == "TAG" or not tables:
        context.warnings.append(
            "dynamodb.table.includelist is not set or not used: tables found by their tags are not known"
        )
        return
    for item in tables:
        name = item.rpartition("/")[2]
        yield WrittenTopic(name, naming.DYNAMODB(region=_region(item) or region, table=name))


@source_family("dynamodb-trustpilot", "", "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector")
def trustpilot_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """The community's source: `{prefix}{topic of the map, else the table}`."""
    config = context.config
    region = _region(config.get("dynamodb.service.endpoint"), config.get("aws.region", default="eu-west-1"))
    prefix = config.get("kafka.topic.prefix", default="dynamodb-")
    mapped = config.json_object("kafka.topic.map", context.warnings)
    tables = config.items("dynamodb.table.whitelist")
    if not tables:
        context.warnings.append(
            "dynamodb.table.whitelist is not set: tables found by their tags are not known"
        )
    for table in tables or [
        name for name, topic in mapped.items() if prefix + topic in context.cluster_topics
    ]:
        yield WrittenTopic(prefix + mapped.get(table, table), naming.DYNAMODB(region=region, table=table))


@sink_family("dynamodb", "DynamoDbSink", "io.confluent.connect.aws.dynamodb.DynamoDbSinkConnector")
def dynamodb_sink(context: SinkContext, topic: str) -> str:
    config = context.config
    region = _region(
        config.get("aws.dynamodb.endpoint"), config.get("aws.dynamodb.region"), config.get("kafka.region")
    )
    return naming.DYNAMODB(region=region, table=table_name(config, topic))
