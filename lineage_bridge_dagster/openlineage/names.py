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
    """The name of the dataset that a node stands for; None for a node that is not a dataset.

    Args:
        node: A topic, a table of a catalog, or an outside dataset.
        account: The AWS account of Glue tables that do not tell theirs.
    """
    match node:
        case TopicNode():
            return OpenLineageName(kafka_namespaces(node)[0], node.qualified_name)
        case GlueTableNode():
            # In every partition: the specification and all of its clients write `arn:aws`.
            place = node.shown_place
            arn = f"arn:aws:glue:{node.aws_region}:{node.catalog_id or account}"
            return OpenLineageName(arn, f"table/{place.database}/{place.table}")
        case IcebergTableNode():
            return OpenLineageName(f"iceberg://{node.catalog}", f"{node.database}.{node.table_name}")
        case DatasetNode():
            return split_name(node.qualified_name)
    return None


def other_names(node: Node, name: OpenLineageName) -> list[tuple[OpenLineageName, str]]:
    """The names by which others may know a dataset, each with the kind of name.

    A topic is known by each of its bootstrap servers, and a table by its location. A Glue table has its own
    name once more as `TABLE`: DataHub's converter takes only a symlink of this kind for a table of Glue.
    """
    if isinstance(node, TopicNode):
        namespaces = kafka_namespaces(node)
        return [(OpenLineageName(other, name.name), "TOPIC") for other in namespaces[1:]]
    if not isinstance(node, GlueTableNode | IcebergTableNode):
        return []
    found = [(name, "TABLE")] if isinstance(node, GlueTableNode) else []
    if "://" in node.storage_location:
        found.append((split_name(node.storage_location.rstrip("/")), "LOCATION"))
    return found


def kafka_namespaces(topic: TopicNode) -> list[str]:
    """`kafka://host:port` of each bootstrap server, by name; the cluster's id if none is known.

    The first is the topic's own, so that lists in any order agree.
    """
    parts = topic.bootstrap.split(",")
    servers = sorted({server for part in parts if (server := _PROTOCOL.sub("", part.strip()))})
    return [_with_port(server) for server in servers] or [f"kafka://{topic.cluster_id or 'unknown'}"]


def _with_port(server: str) -> str:
    host, separator, port = server.rpartition(":")
    known = separator and port.isdecimal()
    return f"kafka://{server}" if known else f"kafka://{host + port}:{_DEFAULT_PORT}"


def split_name(name: str) -> OpenLineageName:
    """The namespace and the name of a dataset whose full name has both.

    >>> split_name("postgres://pg:5432/shop.public.orders")
    OpenLineageName(namespace='postgres://pg:5432', name='shop.public.orders')
    >>> split_name("azurecosmos://a.documents.azure.com/dbs/shop/colls/orders")
    OpenLineageName(namespace='azurecosmos://a.documents.azure.com/dbs/shop', name='colls/orders')
    >>> split_name("bigquery:p.d.t")
    OpenLineageName(namespace='bigquery', name='p.d.t')
    >>> split_name("arn:aws:glue:eu-west-1:123/table/db/t")
    OpenLineageName(namespace='arn:aws:glue:eu-west-1:123', name='table/db/t')
    """
    scheme, separator, rest = name.partition("://")
    if separator:
        start = rest.find("/colls/") if scheme == "azurecosmos" else rest.find("/")
        authority, path = (rest[:start], rest[start + 1 :]) if start >= 0 else (rest, "")
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
