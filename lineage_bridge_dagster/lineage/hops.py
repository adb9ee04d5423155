"""A hop as JSON, and a whole chain as JSON cut to a number of bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import NodeView
from lineage_bridge_dagster.lineage.redaction import redact_sql
from lineage_bridge_dagster.lineage.text import clean, size

#: Bytes of UTF-8 that `lineage_bridge.upstream_chain` may take.
CHAIN_LIMIT = 64 * 1024

#: The ways to show SQL text, from most to least telling.
SQL_MODES = ("full", "redacted", "hash", "none")


def shown_sql(node: Node, mode: str) -> str | None:
    """The node's SQL text as the mode shows it; None where there is none to show.

    Raises:
        ValueError: the mode is none of `SQL_MODES`.
    """
    if mode not in SQL_MODES:
        raise ValueError(f"{mode!r} is no way to show SQL; choose of {', '.join(SQL_MODES)}")
    text = NodeView.of(node).sql
    if mode == "none" or not text.strip():
        return None
    if mode == "hash":
        return "sha256:" + hashlib.sha256(clean(text).encode()).hexdigest()
    return clean(redact_sql(text) if mode == "redacted" else text)


def hop_record(distance: int, node: Node, sql: str = "redacted") -> dict[str, Any]:
    """`hop, kind, qualified_name, display_name`, and `sql`, `connector_class`, `schema_fields` if any."""
    view = NodeView.of(node)
    record: dict[str, Any] = {
        "hop": distance,
        "kind": str(node.node_type),
        "qualified_name": clean(node.qualified_name),
        "display_name": clean(node.label),
    }
    if text := shown_sql(node, sql):
        record["sql"] = text
    if view.connector_class:
        record["connector_class"] = clean(view.connector_class)
    if fields := view.schema_fields:
        record["schema_fields"] = [{"name": clean(field.name), "type": clean(field.type)} for field in fields]
    return record


def fit(records: Sequence[Mapping[str, Any]], limit: int = CHAIN_LIMIT) -> tuple[str, bool]:
    """The hops as compact JSON of at most `limit` bytes, and whether something had to be left out.

    Given up in this order, and only as much as it takes: SQL texts and then schema fields, the largest
    first; then hops, in the order of `give_up_order`. The result depends on nothing but the records.
    """
    kept: list[dict[str, Any] | None] = [dict(record) for record in records]
    sizes = [size(_dumps(record)) for record in kept]
    total = 2 + sum(sizes) + max(0, len(sizes) - 1)
    cut = total > limit
    for field in ("sql", "schema_fields"):
        if total <= limit:
            break
        holders = [
            (size(_dumps(record[field])), i) for i, record in enumerate(kept) if record and field in record
        ]
        for _, i in sorted(holders, key=lambda holder: (-holder[0], -holder[1])):
            if total <= limit:
                break
            record = kept[i]
            assert record is not None  # noqa: S101 - no hop has been dropped yet
            del record[field]
            smaller = size(_dumps(record))
            total -= sizes[i] - smaller
            sizes[i] = smaller
    if total > limit:
        for i in give_up_order([(record["hop"], record["kind"]) for record in records]):
            if total <= limit:
                break
            kept[i] = None
            total -= sizes[i] + 1
    return _dumps([record for record in kept if record is not None]), cut


def give_up_order(hops: Sequence[tuple[int, str]]) -> list[int]:
    """Indexes of `(distance, kind)` hops, ordered by distance, in the order in which to leave them out.

    First the hops in between, from the middle outwards; then sources, the nearest first, so that those
    farthest upstream stay longest; last of all the table's own topic and Tableflow table.
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


def name_list(names: Iterable[str], limit: int) -> tuple[str, bool]:
    """Names joined by commas, each once, in order, up to `limit` bytes; and whether some were left out.

    A comma, a percent sign or a control character in a name is percent-encoded, so that the list splits at
    its commas into exactly the names.
    """
    kept: list[str] = []
    total = 0
    for name in dict.fromkeys(names):
        encoded = "".join(
            "".join(f"%{byte:02X}" for byte in char.encode())
            if char in ",%" or not char.isprintable()
            else char
            for char in clean(name)
        )
        total += size(encoded) + (1 if kept else 0)
        if total > limit:
            return ",".join(kept), True
        kept.append(encoded)
    return ",".join(kept), False


def _dumps(value: object) -> str:
    return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
