"""What is outside Confluent, and what only reads: datasets and consumer groups."""

from __future__ import annotations

from collections.abc import Sequence

from lineage_bridge_dagster.lineage.nodes.attribute import Api, attribute
from lineage_bridge_dagster.lineage.nodes.node import Node, NodeType, kind
from lineage_bridge_dagster.lineage.nodes.values import COLUMNS, Field


@kind(NodeType.EXTERNAL_DATASET, system="external")
class DatasetNode(Node):
    """A dataset outside Confluent, named as the OpenLineage specification names it."""

    __slots__ = ()

    columns: Sequence[Field] = attribute(codec=COLUMNS, in_details=False)


@kind(NodeType.CONSUMER_GROUP)
class ConsumerGroupNode(Node):
    """A consumer group of a Kafka cluster."""

    __slots__ = ()

    #: Such as `STABLE`.
    state: str = attribute(Api.CONSUMER_GROUPS)
    type: str = attribute(Api.CONSUMER_GROUPS)
    is_simple: bool = attribute(Api.CONSUMER_GROUPS)
