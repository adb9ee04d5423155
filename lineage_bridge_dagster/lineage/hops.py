"""Hops as JSON, truncated to what a Glue parameter holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import Field
from lineage_bridge_dagster.lineage.sql_modes import is_parsed, shown_text
from lineage_bridge_dagster.lineage.text import clean, size
from lineage_bridge_dagster.redaction.redact import redact_text

#: Maximum bytes of `lineage_bridge.upstream_chain`, in UTF-8.
MAX_CHAIN_BYTES = 64 * 1024

#: The kinds of hops that are not called as the type of their node.
_KINDS: Mapping[str, str] = {NodeType.KAFKA_TOPIC: "topic"}


def hop_kind(node_type: str) -> str:
    """Return the kind of a hop: the type of its node, except that a topic is a `topic`.

    It accepts a kind as well as a node type: chains of earlier pushes have the node type of a topic.
    """
    return _KINDS.get(node_type, str(node_type))


def shown_sql(node: Node, mode: str) -> str | None:
    """Return the node's SQL text as the mode shows it; None if it has none or shows none.

    Raises:
        ValueError: The mode is not one of `SQL_MODES`.
    """
    return clean(shown_text(node.sql, mode, is_parsed=is_parsed(node))) or None


def writer_note(node: Node) -> str:
    """A note that the writer of a topic is inferred from its name; empty for any other node."""
    writer = node.writer
    return f"writer {clean(writer)} from its name" if writer else ""


def hop_record(distance: int, node: Node, sql: str = "redacted") -> dict[str, Any]:
    """Return a hop as an entry of `lineage_bridge.upstream_chain`, without the fields that it lacks."""
    record: dict[str, Any] = {
        "hop": distance,
        "kind": hop_kind(node.node_type),
        "qualified_name": clean(node.qualified_name),
        "display_name": clean(node.label),
    }
    if node.writer:
        record["writer"] = clean(node.writer)
    if text := shown_sql(node, sql):
        record["sql"] = text
    # LineageBridge notes on a dataset the class of the connector that it was inferred from.
    if node.connector_class and node.node_type != NodeType.EXTERNAL_DATASET:
        record["connector_class"] = clean(node.connector_class)
    if fields := node.schema_fields:
        record["schema_fields"] = [_field(field) for field in fields]
    return record


def _field(field: Field) -> dict[str, str]:
    record = {"name": clean(field.name), "type": clean(field.type)}
    return {**record, "description": clean(redact_text(field.comment))} if field.comment else record


def chain_json(records: Sequence[Mapping[str, Any]], limit: int = MAX_CHAIN_BYTES) -> tuple[str, bool]:
    """Return the hops as compact JSON of at most `limit` bytes, and whether they were truncated.

    As little as necessary is dropped: first SQL texts, then schema fields, the largest first; then hops, in
    the order of `drop_order`.
    """
    remaining: list[dict[str, Any] | None] = [dict(record) for record in records]
    sizes = [size(_dumps(record)) for record in remaining]
    total = 2 + sum(sizes) + max(0, len(sizes) - 1)
    truncated = total > limit
    for field in ("sql", "schema_fields"):
        if total <= limit:
            break
        largest_first = sorted(
            ((size(_dumps(r[field])), i) for i, r in enumerate(remaining) if r and field in r), reverse=True
        )
        for _, i in largest_first:
            if total <= limit:
                break
            record = remaining[i]
            assert record is not None  # noqa: S101 - no hop has been dropped yet
            del record[field]
            total -= sizes[i]
            sizes[i] = size(_dumps(record))
            total += sizes[i]
    if total > limit:
        for i in drop_order([(record["hop"], record["kind"]) for record in records]):
            if total <= limit:
                break
            remaining[i] = None
            total -= sizes[i] + 1
    return _dumps([record for record in remaining if record is not None]), truncated


def drop_order(hops: Sequence[tuple[int, str]]) -> list[int]:
    """Return the indexes of hops, `(distance, kind)` by distance, in the order in which to drop them.

    First the hops in between, from the middle outwards; then sources, the nearest first, so that those
    farthest upstream stay longest; last the table's own topic and Tableflow table.
    """
    farthest = max((distance for distance, _ in hops), default=0)
    middle, sources, near = [], [], []
    for i, (distance, kind) in enumerate(hops):
        if distance <= 2:
            near.append(i)
        elif distance == farthest or kind == NodeType.EXTERNAL_DATASET:
            sources.append(i)
        else:
            middle.append(i)
    centre = (middle[0] + middle[-1]) / 2 if middle else 0
    middle.sort(key=lambda i: (abs(i - centre), i))
    return [*middle, *sources, *reversed(near)]


def join_names(names: Iterable[str], limit: int) -> tuple[str, bool]:
    """Return the distinct names joined by commas, up to `limit` bytes, and whether any were dropped.

    Commas, percent signs and control characters in names are percent-encoded, so that splitting the list at
    its commas gives exactly the names.
    """
    joined: list[str] = []
    total = 0
    for name in dict.fromkeys(names):
        encoded = "".join(
            "".join(f"%{byte:02X}" for byte in char.encode())
            if char in ",%" or not char.isprintable()
            else char
            for char in clean(name)
        )
        total += size(encoded) + (1 if joined else 0)
        if total > limit:
            return ",".join(joined), True
        joined.append(encoded)
    return ",".join(joined), False


def _dumps(value: object) -> str:
    return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
