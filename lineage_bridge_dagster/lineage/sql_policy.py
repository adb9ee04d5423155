"""Where SQL may be seen: a discovery, and what a push wrote, limited to what the setting `push.sql` shows.

Only a discovery in progress holds statements as they were written. What it stores, and everything that is
made of it, has them as the setting of that time shows them. A setting that has become stricter since is
applied again wherever something leaves the process; one that shows more takes effect with the next discovery.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from lineage_bridge_dagster.json_text import json_of
from lineage_bridge_dagster.lineage.description import with_sql_notes
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN
from lineage_bridge_dagster.lineage.model import INPUTS, Edge, Graph, Node
from lineage_bridge_dagster.lineage.nodes import Holds
from lineage_bridge_dagster.lineage.nodes.policies import HOLDS
from lineage_bridge_dagster.lineage.sql_modes import (
    at_least_as_strict,
    is_parsed,
    is_sql,
    shown_text,
    sql_hash,
)
from lineage_bridge_dagster.redaction.redact import (
    MASK,
    redact_key,
    redact_schema,
    redact_sql,
    redact_text,
    redact_value,
)

#: Key in `Discovery.caches`: `{"mode", "rules", "hashes": {node id: hash}}`, the mode and the rules that
#: limit the discovery, and the hashes of the statements whose text it does not have.
CACHE = "sql"
#: Raise it when the rules in `redaction` change, so that they apply to discoveries that are stored.
_RULES = 5

#: What edges of a discovery have, and what none may change: ids and names of scopes.
_OF_EDGES = frozenset({"evidence", "scope", "scopes", "stale_since", INPUTS})
#: What a field or a column without a comment has: a graph has millions of them.
_FIELD = frozenset({"name", "type"})
#: A literal in a parser's message.
_QUOTED = re.compile(r"(?<!\w)'[^'\n]{1,8192}+'(?!\w)")
#: In place of a parser's message, which quotes the statement.
_NOT_SHOWN = "the parser's message is not shown, since SQL is not"


def limited(discovery: Discovery, mode: str, last: Discovery | None = None) -> Discovery:
    """Return the discovery with all SQL in it as the mode shows it, or as it was limited to before.

    Args:
        discovery: New, with statements as they were written; or stored, under any mode.
        mode: One of `SQL_MODES`.
        last: The last discovery. What is the same in it, and limited to this mode by these rules, is not read
            again: to limit it once more would not change it.

    Raises:
        ValueError: It is another mode.
    """
    known = mode_of(discovery)
    if known is not None and at_least_as_strict(known, mode):
        if discovery.caches[CACHE].get("rules") == _RULES:
            return discovery
        mode = known
    nodes = discovery.graph.nodes
    limits = limited_to(mode)[CACHE]
    cache = dict(limits)
    if mode == "none":
        hashes = {node_id: found for node_id in nodes if (found := statement_hash(discovery, node_id))}
        cache |= {"hashes": hashes} if hashes else {}
    known_limits = last.caches.get(CACHE) if last else None
    same = isinstance(known_limits, Mapping) and limits.items() <= known_limits.items()
    before = last.graph.nodes if last and same else {}
    graph = Graph()
    graph.nodes = {node_id: limited_node(node, mode, before.get(node_id)) for node_id, node in nodes.items()}
    graph.edges = {key: limited_edge(edge, mode) for key, edge in discovery.graph.edges.items()}
    return replace(discovery, graph=graph, caches={**discovery.caches, CACHE: cache})


def limited_to(mode: str) -> dict[str, Any]:
    """The caches of a discovery that is limited to a mode, where hashes of its statements are not known."""
    return {CACHE: {"mode": mode, "rules": _RULES}}


def mode_of(discovery: Discovery) -> str | None:
    """The mode that a discovery is limited to; None if that is not known, as for a graph from a file."""
    cache = discovery.caches.get(CACHE)
    mode = cache.get("mode") if isinstance(cache, Mapping) else None
    try:
        return mode if isinstance(mode, str) and at_least_as_strict(mode, "full") else None
    except ValueError:
        # A later version's.
        return None


def statement_hash(discovery: Discovery, node_id: str) -> str | None:
    """A hash that changes with a node's statement, whatever the discovery shows of it; None if it is unknown.

    It is of the redacted text: it tells nothing of a secret, and another mode does not change it.
    """
    node = discovery.graph.nodes[node_id]
    text = node.attributes.get("sql")
    if isinstance(text, str) and text.strip():
        return sql_hash(redact_sql(text, is_parsed=is_parsed(node)))
    cache = discovery.caches.get(CACHE)
    hashes = cache.get("hashes") if isinstance(cache, Mapping) else None
    found = hashes.get(node_id) if isinstance(hashes, Mapping) else None
    return found if isinstance(found, str) else None


def limited_node(node: Node, mode: str, before: Node | None = None) -> Node:
    """Return a node of any kind without secrets, with the SQL in its attributes as the mode shows it.

    Args:
        mode: One of `SQL_MODES`.
        before: The node in a discovery that is limited to the mode.
    """
    parsed = is_parsed(node)
    known = before.attributes if before is not None and is_parsed(before) == parsed else {}
    attributes = _shown_attributes(node.attributes, mode, parsed=parsed, known=known)
    url = node.url
    if url and (before is None or url != before.url):
        url = redact_text(url)
    if attributes == node.attributes and url == node.url:
        return node
    return node.changed(attributes=attributes, url=url)


def limited_edge(edge: Edge, mode: str) -> Edge:
    """Return an edge without secrets; one from a file may have any attributes, SQL too."""
    if edge.attributes.keys() <= _OF_EDGES:
        return edge
    attributes = _shown_attributes(edge.attributes, mode, parsed=True)
    attributes |= {name: edge.attributes[name] for name in _OF_EDGES & edge.attributes.keys()}
    return edge if attributes == edge.attributes else replace(edge, attributes=attributes)


def _shown_attributes(
    found: Mapping[str, Any], mode: str, *, parsed: bool, known: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for name, value in found.items():
        if name in known and known[name] == value:
            attributes[name] = value
            continue
        holds = HOLDS.get(name)
        if holds is None:
            shown: Any = _shown(name, value, mode)
        elif holds is Holds.STATEMENT and isinstance(value, str):
            shown = _stored(value, mode, is_parsed=parsed)
        elif holds is Holds.FORMATTED_STATEMENT and isinstance(value, str):
            shown = _stored(value, mode, is_parsed=parsed) if _shows_text(mode) else ""
        elif holds is Holds.PARSER_MESSAGE and isinstance(value, str) and value:
            shown = _QUOTED.sub(f"'{MASK}'", redact_text(value)) if _shows_text(mode) else _NOT_SHOWN
        elif holds is Holds.PARAMETERS and isinstance(value, Mapping):
            shown = shown_parameters(value, mode)
        elif holds is Holds.DESCRIPTION and isinstance(value, str):
            shown = shown_description(value, mode)
        elif holds is Holds.SCHEMA and isinstance(value, str):
            shown = redact_schema(value)
        elif holds is Holds.COLUMN_NAMES:
            shown = value
        else:
            shown = _shown(name, value, mode)
        if shown or not value:
            attributes[name] = shown
    return attributes


def shown_parameters(parameters: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """Return a table's parameters without secrets, with the SQL of a pushed chain as the mode shows it.

    SQL that is there and not shown is `****`.
    """
    return {str(key): _parameter(str(key), value, mode) for key, value in parameters.items()}


def shown_description(description: str, mode: str) -> str:
    """Return a table's description without secrets, and with the SQL of our block as the mode shows it."""
    return with_sql_notes(redact_text(description), lambda sql: _pushed(sql, mode))


def _stored(text: str, mode: str, *, is_parsed: bool = True) -> str:
    """A statement as a discovery stores it; a hash is of the redacted text, whatever the discovery had."""
    if mode == "hash":
        text = redact_sql(text, is_parsed=is_parsed)
    return shown_text(text, mode, is_parsed=is_parsed)


def _pushed(text: str, mode: str) -> str:
    return _stored(text, mode) or MASK


def _shows_text(mode: str) -> bool:
    return not at_least_as_strict(mode, "hash")


def _shown(key: str, value: Any, mode: str) -> Any:
    """What an attribute, or a setting in one, shows; empty if it is SQL and none is shown."""
    # Most values are text or numbers, then lists, and to ask an abstract class takes longer.
    if isinstance(value, str):
        return _short_text(key, value, mode) if len(value) <= _SHORT else _shown_text(key, value, mode)
    if value is None or isinstance(value, int):
        return redact_value(key, value)
    if isinstance(value, list | tuple):
        if all(isinstance(item, dict) and item.keys() <= _FIELD for item in value):
            return value
        return [_shown(key, item, mode) for item in value]
    if isinstance(value, Mapping):
        if value.keys() <= _FIELD:
            return value
        settings = {str(name): (_shown(str(name), item, mode), item) for name, item in value.items()}
        return {redact_key(name): shown for name, (shown, item) in settings.items() if shown or not item}
    return redact_value(key, value)


def _shown_text(key: str, value: str, mode: str) -> Any:
    if not is_sql(key, value):
        return redact_value(key, value)
    # In the words of its own dialect, which may hide from a reader of SQL what a reader of text finds.
    text = _stored(value, mode)
    return redact_text(text) if mode == "redacted" else text


#: The values of most attributes come again and again: names of places, scopes, endpoints, settings.
_SHORT = 256
_short_text = lru_cache(maxsize=16_384)(_shown_text)


def _parameter(key: str, value: Any, mode: str) -> Any:
    if key == KEY_UPSTREAM_CHAIN:
        return _chain(value, mode)
    return _shown(key, value, mode) or (MASK if value else value)


def _chain(text: Any, mode: str) -> Any:
    """The JSON of a chain, with its SQL as the mode shows it; the same text if that changes nothing."""
    if not isinstance(text, str):
        return text
    hops = json_of(text, list)
    if hops is None or not all(isinstance(hop, Mapping) for hop in hops):
        # Someone has edited it, so the SQL in it cannot be located.
        return redact_text(text) if _shows_text(mode) else MASK
    changed = [
        {**hop, "sql": _pushed(hop["sql"], mode)} if isinstance(hop.get("sql"), str) else hop for hop in hops
    ]
    return text if changed == hops else json.dumps(changed, ensure_ascii=False, separators=(",", ":"))
