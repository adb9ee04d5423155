"""How OpenLineage names the datasets and jobs of a graph.

Source: https://openlineage.io/docs/spec/naming
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import (
    DatasetNode,
    GlueTableNode,
    IcebergTableNode,
    TableflowNode,
    TopicNode,
)

_PROTOCOL = re.compile(r"^\w+://")
_DEFAULT_PORT = "9092"


class OpenLineageName(NamedTuple):
    """A dataset or a job."""

    namespace: str
    name: str


def dataset_name(node: Node, *, account: str = "") -> OpenLineageName | None:
    """The name of the dataset that a node stands for; None for a node that is none.

    Args:
        node: A topic, a table of a catalog, or an outside dataset.
        account: The AWS account of Glue tables that do not tell theirs.
    """
    match node:
        case TopicNode():
            return OpenLineageName(kafka_namespace(node), node.qualified_name)
        case GlueTableNode():
            place = node.shown_place
            arn = f"arn:aws:glue:{node.aws_region}:{node.catalog_id or account}"
            return OpenLineageName(arn, f"table/{place.database}/{place.table}")
        case IcebergTableNode():
            return OpenLineageName(f"iceberg://{node.catalog}", f"{node.database}.{node.table_name}")
        case DatasetNode():
            return split_name(node.qualified_name)
    return None


def kafka_namespace(topic: TopicNode) -> str:
    """`kafka://host:port` of the first bootstrap server by name; the cluster's id if none is known."""
    servers = sorted(
        server for part in topic.bootstrap_endpoint.split(",") if (server := _PROTOCOL.sub("", part.strip()))
    )
    if not servers:
        return f"kafka://{topic.cluster_id or 'unknown'}"
    host, separator, port = servers[0].rpartition(":")
    return (
        f"kafka://{servers[0]}"
        if separator and port.isdecimal()
        else f"kafka://{host + port}:{_DEFAULT_PORT}"
    )


def split_name(name: str) -> OpenLineageName:
    """The namespace and the name of a dataset whose full name has both.

    >>> split_name("postgres://pg:5432/shop.public.orders")
    OpenLineageName(namespace='postgres://pg:5432', name='shop.public.orders')
    >>> split_name("bigquery:p.d.t")
    OpenLineageName(namespace='bigquery', name='p.d.t')
    >>> split_name("arn:aws:glue:eu-west-1:123/table/db/t")
    OpenLineageName(namespace='arn:aws:glue:eu-west-1:123', name='table/db/t')
    """
    scheme, separator, rest = name.partition("://")
    if separator:
        authority, _, path = rest.partition("/")
        return OpenLineageName(f"{scheme}://{authority}", path or "/")
    if name.startswith("arn:"):
        namespace, _, path = name.partition("/")
        return OpenLineageName(namespace, path or "/")
    namespace, separator, path = name.partition(":")
    return OpenLineageName(namespace, path) if separator and path else OpenLineageName("unknown", name)


def job_name(node: Node) -> OpenLineageName:
    """The name of the job that a process, a Tableflow table or a mirror topic stands for."""
    place = f"confluent://{node.environment_id or 'unknown'}"
    if isinstance(node, TableflowNode):
        return OpenLineageName(f"{place}/{node.cluster_id}", f"tableflow.{node.topic}")
    if isinstance(node, TopicNode):
        return OpenLineageName(f"{place}/{node.cluster_id}", f"mirror.{node.qualified_name}")
    return OpenLineageName(f"{place}/{node.cluster_id or node.region or 'flink'}", node.qualified_name)
