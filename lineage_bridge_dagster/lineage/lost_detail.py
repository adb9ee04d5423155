"""What a table's lineage would lose if a new chain replaced the current one.

An incomplete discovery may add to a table's lineage, but must not take away what it could not see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.json_text import json_of
from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN, DocumentOptions, LineageDocument
from lineage_bridge_dagster.lineage.hops import hop_kind
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster.text import first_few

#: Attributes that a hop may have besides its names.
_DETAILS = ("sql", "connector_class", "schema_fields")
_BLOCK_HOP = re.compile(r"^\s*- (\w+): (.+?)(?: \[.*)?$")
#: Losses that are named; more are only counted.
_SHOWN_LOSSES = 3

_Hop = Mapping[str, Any]


def held_reason(
    parameters: Mapping[str, str],
    block: str | None,
    document: LineageDocument | None,
    options: DocumentOptions,
) -> str | None:
    """Why an incomplete discovery must not replace the current lineage; None if it may."""
    if document is None:
        return "the discovery was incomplete, so nothing is removed"
    lost = lost_detail(parameters, block, document, options)
    return None if lost is None else f"the discovery was incomplete, and this push would remove {lost}"


def lost_detail(
    parameters: Mapping[str, str], block: str | None, document: LineageDocument, options: DocumentOptions
) -> str | None:
    """The hops and details of the current lineage that the new one does not have; None if it has them all.

    Args:
        parameters: the table's current parameters.
        block: our block of its current description.
        options: with `sql: none`, missing SQL text is not a loss.
    """
    chain = parameters.get(KEY_UPSTREAM_CHAIN) if options.set_parameters else None
    current = _block_hops(block or "") if chain is None else _parse_chain(chain)
    if current is None:
        return "the current chain, which cannot be read to compare with"
    # Topics of the same name in two clusters are two hops: each current hop needs a new one of its own.
    candidates: dict[tuple[str, str], list[_Hop]] = {}
    for hop in _document_hops(document):
        for name in _names(hop):
            candidates.setdefault(name, []).append(hop)
    used: set[int] = set()
    lost: list[str] = []
    for hop in current:
        same = [
            new for name in sorted(_names(hop)) for new in candidates.get(name, ()) if id(new) not in used
        ]
        if not same:
            lost.append(f"{hop_kind(str(hop.get('kind')))} {hop.get('qualified_name')}")
            continue
        replacement = next((new for new in same if new.get("hop") == hop.get("hop")), same[0])
        used.add(id(replacement))
        lost += [
            f"the {detail} of {hop.get('qualified_name')}"
            for detail in _DETAILS
            if hop.get(detail)
            and not replacement.get(detail)
            and not (detail == "sql" and options.sql == "none")
            # Earlier pushes wrote the class of a connector on its dataset too.
            and not (detail == "connector_class" and hop.get("kind") == NodeType.EXTERNAL_DATASET)
        ]
    return first_few(lost, _SHOWN_LOSSES) if lost else None


def _names(hop: _Hop) -> set[tuple[str, str]]:
    """The names to compare a hop by. The description may show the display name."""
    kind = hop_kind(str(hop.get("kind")))
    return {(kind, str(hop[name])) for name in ("qualified_name", "display_name") if hop.get(name)}


def _document_hops(document: LineageDocument) -> list[_Hop]:
    """The hops of the parameters; a document for the description alone has only the lines of its tree."""
    if KEY_UPSTREAM_CHAIN in document.parameters:
        hops: list[_Hop] = json.loads(document.parameters[KEY_UPSTREAM_CHAIN])
        return hops
    lines = document.content.lines if document.content else ()
    return [{"kind": line.kind, "qualified_name": line.name} for line in lines]


def _parse_chain(text: str) -> list[_Hop] | None:
    hops = json_of(text, list)
    return None if hops is None or not all(isinstance(hop, dict) for hop in hops) else hops


def _block_hops(block: str) -> list[_Hop]:
    """The hops of a description's tree, which has only their kinds and names."""
    hops: list[_Hop] = []
    for line in block.splitlines():
        if match := _BLOCK_HOP.match(line):
            kind, name = match.groups()
            hops.append({"kind": kind, "qualified_name": name})
    return hops
