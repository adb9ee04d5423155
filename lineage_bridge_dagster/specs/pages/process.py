"""The page of a connector, a Flink statement, a ksqlDB query or an outside job."""

from __future__ import annotations

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import ConnectorNode, ExternalJobNode, StatementNode
from lineage_bridge_dagster.specs.graph_view import NodeContext
from lineage_bridge_dagster.specs.markdown import fenced
from lineage_bridge_dagster.specs.pages.open_points import own_lines
from lineage_bridge_dagster.specs.pages.phrases import location, names, plain, titles
from lineage_bridge_dagster.text import first_few

_KINDS = {
    NodeType.CONNECTOR: "Connector",
    NodeType.FLINK_JOB: "Flink statement",
    NodeType.KSQLDB_QUERY: "ksqlDB query",
    NodeType.EXTERNAL_JOB: "Job",
}
#: Attribute -> label, in the order shown.
_STATE = {
    "phase": "Phase",
    "state": "State",
    "statement_kind": "kind",
    "connector_type": "kind",
    "compute_pool_id": "compute pool",
    "principal": "runs as",
    "region": "region",
    "integration": "integration",
    "processing_type": "processing",
    "job_type": "kind",
    "evidence": "evidence",
}


def first_line(process: Node, context: NodeContext) -> str:
    """`Flink statement enrich in prod, reads orders, writes enriched`."""
    text = f"{_KINDS[NodeType(process.node_type)]} {plain(process.label)}"
    if process.node_type == NodeType.CONNECTOR:
        text += f" ({plain(process.connector_class or 'connector')})"
    if isinstance(process, ExternalJobNode):
        text += f" ({plain(process.integration.capitalize() or 'outside Confluent')})"
    text += location(process)
    if sources := names(context.view.sources(process)):
        text += f", reads {sources}"
    if targets := names(context.view.targets(process)):
        text += f", writes {targets}"
    return text


def state(process: Node) -> str:
    """One line with its state, region and principal; below it errors, what is not known, and warnings."""
    view = StatementNode.of(process)
    facts = [(label, plain(view.text(name))) for name, label in _STATE.items()]
    lines = [", ".join(f"{label} {text}" for label, text in facts if text)]
    if view.parse_error:
        lines.append(f"Could not parse: {plain(view.parse_error)}")
    lines += own_lines(process)
    lines += [f"Note: {plain(warning)}" for warning in view.warnings]
    return "\n\n".join(f"{line}." for line in lines if line)


def facts(process: Node, context: NodeContext) -> dict[str, str]:
    """What it reads and writes, and what a connector should write but does not exist."""
    view = context.view
    targets = view.targets(process)
    guessed = [target for target in targets if (process.node_id, target.node_id) in view.inferred]
    absent = sorted(map(plain, ConnectorNode.of(process).absent_topics))
    job = ExternalJobNode.of(process)
    return {
        "About": plain(job.description),
        "Started by": plain(job.parent_job),
        "Last run": f"{job.last_run_on} ({plain(job.last_run) or 'declared'})" if job.last_run_on else "",
        "Told by": plain(job.producer),
        "Reads": titles(view.sources(process), 20),
        "Writes": titles(targets, 20),
        "Inferred from their names": titles(guessed, 20),
        "Topics that do not exist": first_few(absent, 20),
    }


def statement(process: Node) -> str:
    """Its SQL, formatted, as a code block; empty without SQL."""
    sql = StatementNode.of(process).formatted_sql
    return fenced(sql, "sql") if sql else ""
