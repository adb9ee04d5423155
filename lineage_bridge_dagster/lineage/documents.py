"""A chain as a push writes it to Glue: parameters and a block of the description."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from lineage_bridge_dagster.lineage.chains import Chain, Hop
from lineage_bridge_dagster.lineage.description import DescriptionBlock, HopLine, without_time
from lineage_bridge_dagster.lineage.hops import (
    MAX_CHAIN_BYTES,
    chain_json,
    hop_kind,
    hop_record,
    join_names,
    shown_sql,
    writer_note,
)
from lineage_bridge_dagster.lineage.loaded_topics import TOPIC_TO_ICEBERG, loaded_topic_of
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster.lineage.nodes import ExternalJobNode, GlueTableNode
from lineage_bridge_dagster.lineage.text import MAX_VALUE_BYTES, clean, one_line

PREFIX = "lineage_bridge."
KEY_SOURCE_TOPICS = PREFIX + "source_topics"
KEY_SOURCE_CONNECTORS = PREFIX + "source_connectors"
KEY_UPSTREAM_CHAIN = PREFIX + "upstream_chain"
KEY_UPSTREAM_TRUNCATED = PREFIX + "upstream_truncated"
KEY_PIPELINE_TYPE = PREFIX + "pipeline_type"
KEY_ENVIRONMENT_ID = PREFIX + "environment_id"
KEY_CLUSTER_ID = PREFIX + "cluster_id"
KEY_LAST_SYNCED = PREFIX + "last_synced"
KEY_DIGEST = PREFIX + "digest"
#: The instance that wrote the lineage; others leave it alone.
KEY_OWNER = PREFIX + "owner"

#: Our keys that describe the push rather than the lineage.
_PUSH_KEYS = frozenset({KEY_LAST_SYNCED, KEY_DIGEST, KEY_OWNER})


class DocumentOptions(Protocol):
    """Which parts of a document are written, and how SQL is shown: one of `SQL_MODES`."""

    @property
    def set_parameters(self) -> bool: ...
    @property
    def set_description(self) -> bool: ...
    @property
    def sql(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ParameterSource:
    """What our parameters are made of, before truncation.

    Attributes:
        hops: as `hops.hop_record` makes them.
        topics: the names of topics, nearest first; so for `connectors`.
    """

    hops: tuple[Mapping[str, Any], ...]
    topics: tuple[str, ...]
    connectors: tuple[str, ...]
    pipeline: str
    environment: str = ""
    cluster: str = ""

    def parameters(self, divisor: int = 1) -> dict[str, str]:
        """Our keys with their values, each truncated to its limit divided by this."""
        text, chain_truncated = chain_json(self.hops, MAX_CHAIN_BYTES // divisor)
        topics, topics_truncated = join_names(self.topics, MAX_VALUE_BYTES // divisor)
        connectors, connectors_truncated = join_names(self.connectors, MAX_VALUE_BYTES // divisor)
        truncated = chain_truncated or topics_truncated or connectors_truncated
        parameters = {
            KEY_SOURCE_TOPICS: topics,
            KEY_SOURCE_CONNECTORS: connectors,
            KEY_UPSTREAM_CHAIN: text,
            KEY_UPSTREAM_TRUNCATED: "true" if truncated else "",
            KEY_PIPELINE_TYPE: self.pipeline,
            KEY_ENVIRONMENT_ID: self.environment,
            KEY_CLUSTER_ID: self.cluster,
        }
        return {key: value for key, value in parameters.items() if value}


@dataclass(frozen=True, slots=True)
class LineageDocument:
    """A chain's parameters and description block. A part that the options exclude is empty.

    Attributes:
        parameters: Our keys, without `last_synced`, `digest` and `owner`, which the push adds.
        content: The block before truncation.
        truncated: whether the parameters leave out part of the chain.
        source: what the parameters are made of.
    """

    parameters: dict[str, str] = field(default_factory=dict)
    content: DescriptionBlock | None = None
    truncated: bool = False
    source: ParameterSource | None = field(default=None, repr=False)

    def block(self, budget_bytes: int, synced_at: str) -> str | None:
        """Return our block of the description; None if it does not fit, or is excluded.

        Args:
            budget_bytes: The room that the user's text leaves.
            synced_at: ISO 8601 UTC.
        """
        return None if self.content is None else self.content.render(budget_bytes, synced_at)

    def shorter(self, divisor: int) -> LineageDocument:
        """The document with parameters that may each take only this fraction of the usual bytes."""
        if self.source is None:
            return self
        parameters = self.source.parameters(divisor)
        return replace(self, parameters=parameters, truncated=KEY_UPSTREAM_TRUNCATED in parameters)


def render(chain: Chain, options: DocumentOptions) -> LineageDocument:
    """Return the document of a chain. It is empty for a chain without hops, which gets no lineage in Glue.

    It does not depend on when nodes were seen or whether they are stale, or an outage would rewrite every
    table.

    Raises:
        ValueError: `options.sql` is not one of `SQL_MODES`.
    """
    if not chain.hops:
        return LineageDocument()
    environment = _nearest(chain, "environment_id")
    content = _content(chain, options, environment) if options.set_description else None
    if not options.set_parameters:
        return LineageDocument(content=content)
    source = ParameterSource(
        hops=tuple(hop_record(hop.distance, hop.node, options.sql) for hop in chain.hops),
        topics=_names(chain, NodeType.KAFKA_TOPIC),
        connectors=_names(chain, NodeType.CONNECTOR),
        environment=environment,
        cluster=_nearest(chain, "cluster_id"),
        pipeline=pipeline_type(chain),
    )
    return LineageDocument(content=content, source=source).shorter(1)


def pipeline_type(chain: Chain) -> str:
    """Return what writes the table: `tableflow`, `topic_to_iceberg` if the table's stamp says so, or
    `sink_connector` if a connector is nearer than a topic.

    Another table right behind its topic is Tableflow's: graphs from files may leave the Tableflow table out.
    """
    if loaded_topic_of(chain.table) is not None:
        return TOPIC_TO_ICEBERG
    for hop in chain.hops:
        if hop.node.node_type == NodeType.CONNECTOR:
            return "sink_connector"
        if hop.node.node_type in (NodeType.TABLEFLOW_TABLE, NodeType.KAFKA_TOPIC):
            break
    return "tableflow"


def digest(parameters: Mapping[str, str], block: str | None) -> str:
    """Return the SHA-256, in hexadecimal, of our parameters and our block, without their times.

    Foreign parameters, `last_synced`, `digest` and `owner` are ignored, so that it can be computed from a
    table's parameters and block as they are in Glue.
    """
    ours = {
        key: value for key, value in parameters.items() if key.startswith(PREFIX) and key not in _PUSH_KEYS
    }
    canonical = json.dumps(
        {"parameters": ours, "block": None if block is None else without_time(block)},
        sort_keys=True,
        separators=(",", ":"),
    )
    return hashlib.sha256(canonical.encode()).hexdigest()


def _names(chain: Chain, node_type: NodeType) -> tuple[str, ...]:
    return tuple(
        hop.node.qualified_name
        for hop in chain.hops
        if hop.node.node_type == node_type and hop.node.qualified_name
    )


def _nearest(chain: Chain, attribute: str) -> str:
    """The table's own value, else that of the nearest hop with one."""
    for node in (chain.table, *(hop.node for hop in chain.hops)):
        if value := getattr(node, attribute):
            return clean(str(value))
    return ""


def _content(chain: Chain, options: DocumentOptions, environment: str) -> DescriptionBlock:
    return DescriptionBlock(
        lines=tuple(_line(hop, options) for hop in chain.hops),
        table=_table_name(GlueTableNode.of(chain.table)),
        environment=environment or None,
        sources=chain.sources,
    )


def _line(hop: Hop, options: DocumentOptions) -> HopLine:
    node = hop.node
    note = ""
    if node.node_type == NodeType.CONNECTOR:
        # The class without its Java package.
        note = clean(node.connector_class).rpartition(".")[2]
    elif isinstance(node, ExternalJobNode):
        note = clean(node.integration)
    elif fields := node.schema_fields:
        note = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
    sql = shown_sql(node, options.sql) or ""
    return HopLine(
        node_id=node.node_id,
        distance=hop.distance,
        kind=hop_kind(node.node_type),
        name=one_line(node.qualified_name or node.label),
        note=note,
        mark=writer_note(node),
        sql=" ".join(sql.split()),
    )


def _table_name(table: GlueTableNode) -> str:
    place = table.place
    return place.dotted if place else table.node.qualified_name.removeprefix("glue://")
