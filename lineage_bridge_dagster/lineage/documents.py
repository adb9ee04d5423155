"""What a push wants to stand in Glue for a chain: parameters and a block of the description."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from lineage_bridge_dagster.lineage.chains import Chain, Hop
from lineage_bridge_dagster.lineage.description import (
    BlockContent,
    Line,
    description_budget,
    join_description,
    split_description,
    without_time,
)
from lineage_bridge_dagster.lineage.hops import (
    CHAIN_LIMIT,
    fit,
    hop_record,
    name_list,
    shown_sql,
)
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, NodeView
from lineage_bridge_dagster.lineage.text import MAX_VALUE_BYTES, clean, one_line

__all__ = [
    "CHAIN_LIMIT",
    "KEY_CLUSTER_ID",
    "KEY_DIGEST",
    "KEY_ENVIRONMENT_ID",
    "KEY_LAST_SYNCED",
    "KEY_PIPELINE_TYPE",
    "KEY_SOURCE_CONNECTORS",
    "KEY_SOURCE_TOPICS",
    "KEY_UPSTREAM_CHAIN",
    "KEY_UPSTREAM_TRUNCATED",
    "PREFIX",
    "LineageDocument",
    "PushOptions",
    "description_budget",
    "digest",
    "join_description",
    "render",
    "split_description",
]

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

#: Our keys that say when and what was written rather than what the lineage is.
_ABOUT_THE_PUSH = frozenset({KEY_LAST_SYNCED, KEY_DIGEST})


@dataclass(frozen=True, slots=True)
class PushOptions:
    """What of a document is written, and how SQL is shown: `full`, `redacted`, `hash` or `none`."""

    set_parameters: bool = True
    set_description: bool = True
    sql: str = "redacted"


@dataclass(frozen=True, slots=True)
class LineageDocument:
    """What a chain comes to in Glue.

    `parameters` are our keys without `last_synced` and `digest`, which the push adds. Under options that
    leave a part out, that part is empty here as well. `truncated` says whether the chain had to be cut.
    """

    parameters: dict[str, str] = field(default_factory=dict)
    content: BlockContent | None = None
    truncated: bool = False

    def block(self, budget_bytes: int, synced_at: str) -> str | None:
        """Our block of the description in at most this many bytes; None when it can't be, or none is wanted.

        Args:
            budget_bytes: what the user's text leaves, see `description_budget`.
            synced_at: ISO 8601 UTC.
        """
        return None if self.content is None else self.content.render(budget_bytes, synced_at)


def render(chain: Chain, options: PushOptions | None = None) -> LineageDocument:
    """The document of a chain. Of a chain without hops it is empty: nothing of ours is wanted in Glue.

    Nothing in it hangs on when things were seen or whether they are stale, or an outage would rewrite every
    table.

    Raises:
        ValueError: `options.sql` is no known way to show SQL.
    """
    options = options or PushOptions()
    if not chain.hops:
        return LineageDocument()
    environment = _nearest(chain, "environment_id")
    document = LineageDocument(
        content=_content(chain, options, environment) if options.set_description else None
    )
    if not options.set_parameters:
        return document
    text, chain_cut = fit(
        [hop_record(hop.distance, hop.node, options.sql) for hop in chain.hops], CHAIN_LIMIT
    )
    topics, topics_cut = _names(chain, NodeType.KAFKA_TOPIC)
    connectors, connectors_cut = _names(chain, NodeType.CONNECTOR)
    truncated = chain_cut or topics_cut or connectors_cut
    wanted = {
        KEY_SOURCE_TOPICS: topics,
        KEY_SOURCE_CONNECTORS: connectors,
        KEY_UPSTREAM_CHAIN: text,
        KEY_UPSTREAM_TRUNCATED: "true" if truncated else "",
        KEY_PIPELINE_TYPE: "tableflow",
        KEY_ENVIRONMENT_ID: environment,
        KEY_CLUSTER_ID: _nearest(chain, "cluster_id"),
    }
    return LineageDocument(
        parameters={key: value for key, value in wanted.items() if value},
        content=document.content,
        truncated=truncated,
    )


def digest(parameters: Mapping[str, str], block: str | None) -> str:
    """SHA-256, in hexadecimal, of our parameters and our block but for the times.

    Other people's parameters, `last_synced` and `digest` are passed over, so that it can be computed from a
    table's parameters and its description's block as they stand in Glue.
    """
    ours = {
        key: value
        for key, value in parameters.items()
        if key.startswith(PREFIX) and key not in _ABOUT_THE_PUSH
    }
    canonical = json.dumps(
        {"parameters": ours, "block": None if block is None else without_time(block)},
        sort_keys=True,
        separators=(",", ":"),
    )
    return hashlib.sha256(canonical.encode()).hexdigest()


def _names(chain: Chain, node_type: NodeType) -> tuple[str, bool]:
    found = (hop.node.qualified_name for hop in chain.hops if hop.node.node_type == node_type)
    return name_list((name for name in found if name), MAX_VALUE_BYTES)


def _nearest(chain: Chain, attribute: str) -> str:
    """The table's own value, else that of the nearest hop that has one."""
    for node in (chain.table, *(hop.node for hop in chain.hops)):
        if value := getattr(node, attribute):
            return clean(str(value))
    return ""


def _content(chain: Chain, options: PushOptions, environment: str) -> BlockContent:
    return BlockContent(
        lines=tuple(_line(hop, options) for hop in chain.hops),
        table=_table_name(GlueTableNode.of(chain.table)),
        environment=environment or None,
    )


def _line(hop: Hop, options: PushOptions) -> Line:
    node = hop.node
    note = ""
    if node.node_type == NodeType.CONNECTOR:
        # A Java class reads better without its package.
        note = clean(NodeView.of(node).connector_class).rpartition(".")[2]
    elif fields := NodeView.of(node).schema_fields:
        note = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
    sql = shown_sql(node, options.sql) or ""
    return Line(
        distance=hop.distance,
        kind=str(node.node_type),
        name=one_line(node.qualified_name or node.label),
        note=note,
        sql=" ".join(sql.split()),
    )


def _table_name(table: GlueTableNode) -> str:
    place = table.place
    return place.dotted if place else table.node.qualified_name.removeprefix("glue://")
