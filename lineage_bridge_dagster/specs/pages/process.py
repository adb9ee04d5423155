"""The pages of what stands between topics: connectors, Flink statements, ksqlDB queries."""

from __future__ import annotations

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.specs.graph_view import NodeContext
from lineage_bridge_dagster.specs.pages.words import fenced, listed, names, plain, where

Fact = tuple[str, str]

_NAMED = {
    NodeType.CONNECTOR: "Connector",
    NodeType.FLINK_JOB: "Flink statement",
    NodeType.KSQLDB_QUERY: "ksqlDB query",
}
#: Attribute -> what it is called, in the order in which they show.
_FACTS = {
    "phase": "Phase",
    "state": "State",
    "statement_kind": "kind",
    "connector_type": "kind",
    "compute_pool_id": "compute pool",
    "principal": "runs as",
    "region": "region",
    "evidence": "known by",
}


def first_line(process: Node, context: NodeContext) -> str:
    """`Flink statement enrich in prod, reads orders, writes enriched`."""
    kind = process.attributes.get("connector_class")
    words = f"{_NAMED[NodeType(process.node_type)]} {plain(process.label)}"
    if process.node_type == NodeType.CONNECTOR:
        words += f" ({plain(str(kind or 'connector'))})"
    words += where(process)
    if sources := names(context.view.sources(process)):
        words += f", reads {sources}"
    if targets := names(context.view.targets(process)):
        words += f", writes {targets}"
    return words


def state(process: Node) -> str:
    """Its state, where and as whom it runs, in one line; below it what is wrong with it."""
    attributes = process.attributes
    told = [(name, plain(str(attributes.get(key) or ""))) for key, name in _FACTS.items()]
    lines = [", ".join(f"{name} {text}" for name, text in told if text)]
    if error := attributes.get("parse_error"):
        lines.append(f"Could not parse: {plain(str(error))}")
    warnings = attributes.get("warnings")
    lines += [f"Note: {plain(str(one))}" for one in warnings] if isinstance(warnings, list) else []
    return "\n\n".join(f"{line}." for line in lines if line)


def facts(process: Node, context: NodeContext) -> list[Fact]:
    """All that it reads and writes."""
    view = context.view
    found = [("Reads", listed(view.sources(process), 20)), ("Writes", listed(view.targets(process), 20))]
    return [(name, text) for name, text in found if text]


def statement(process: Node) -> str:
    """Its SQL as a code block, laid out; empty where there is none."""
    sql = process.attributes.get("formatted_sql") or process.attributes.get("sql")
    return fenced(str(sql), "sql") if sql else ""
