"""What is not known about a process, on its own page and on those of the tables downstream of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lineage_bridge_dagster.lineage.model import EdgeType, Node
from lineage_bridge_dagster.lineage.unknowns import Unknown, unknowns_of
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.specs.pages.phrases import plain, titled
from lineage_bridge_dagster.text import first_few, sentence

#: Maximum of sentences on a table's page.
_MAX_SENTENCES = 5

#: What is not known, and what to do, on the process's own page. A statement's page shows the parser's error.
_OWN: Mapping[str, tuple[str, str]] = {
    Unknown.CLASS: (
        "what its class does. Its topics are those that the settings of every connector name; datasets are "
        "left out, and none is guessed",
        "Correct connector.class if it is misspelt; else add the class to the families of connectors "
        "(docs/connectors.md)",
    ),
    Unknown.TRANSFORM: (
        "what one of its transforms makes of the topics' names",
        "See the note below; docs/connectors.md lists the transforms whose effect is known",
    ),
    Unknown.TOPICS: (
        "some of its topics, or all of them",
        "See the notes below; a list of full names in its configuration, such as schema.table, names them",
    ),
    Unknown.DATASETS: (
        "where the records of some of its topics come from or go to",
        "See the notes below for the settings that leave it open",
    ),
    Unknown.INPUTS: (
        "which of its inputs some of its outputs are made of, so all of them count",
        "Name every table in full, or put each INSERT in a statement of its own",
    ),
    Unknown.EXTERNAL: (
        "which outside datasets its external tables stand for",
        "See the notes below; the statements that create the table and its connection have to be listed",
    ),
}

#: Why the lineage ends at a process, in the order of precedence; `{class}` is the connector's class.
_ENDS: Mapping[str, str] = {
    Unknown.CLASS: "its class {class} is unknown",
    Unknown.SQL: "its SQL could not be parsed",
    Unknown.EXTERNAL: "it is not known what its external tables stand for",
    Unknown.DATASETS: "its configuration does not tell where {output} comes from",
    Unknown.TOPICS: "its configuration does not tell where {output} comes from",
}


def own_lines(process: Node) -> Iterator[str]:
    """What is not known about a process and what to do, one sentence or two for each kind."""
    for kind in unknowns_of(process):
        if kind in _OWN:
            unknown, remedy = _OWN[kind]
            yield f"Not known: {unknown}. What to do: {remedy}"


def upstream_sentences(view: GraphView, table: Node) -> str:
    """Where a table's lineage ends or is not sure because of what is not known; empty if nowhere."""
    if table.node_id not in view.doubtful:
        return ""
    outputs = (table.node_id, *view.upstream.distances(table.node_id))
    found = {
        _sentence(view, process, output)
        for output in outputs
        for process in view.open_outputs.get(output, ())
    }
    more = [f"{len(found) - _MAX_SENTENCES:,} more such places are upstream."]
    return " ".join([*sorted(found)[:_MAX_SENTENCES], *(more if len(found) > _MAX_SENTENCES else [])])


def _sentence(view: GraphView, process_id: str, output_id: str) -> str:
    process, output = view.graph.nodes[process_id], view.graph.nodes[output_id]
    kinds, sources = unknowns_of(process), view.sources(process)
    if (process_id, output_id) in view.inferred:
        return sentence(f"that {titled(process)} writes {titled(output)} is inferred from the topic's name")
    if not sources:
        why = next((text for kind, text in _ENDS.items() if kind in kinds), "it is not known what it reads")
        connector_class = plain(process.connector_class or "(none)")
        why = why.format_map({"class": connector_class, "output": titled(output)})
        return sentence(f"the lineage ends at {titled(process)}: {why}")
    if view.graph.edges[process_id, output_id, EdgeType.PRODUCES].inputs is not None:
        why = "what its transforms make of the topics' names is not fully known"
        return sentence(f"the lineage through {titled(process)} is not sure: {why}")
    inputs = first_few(sorted(map(titled, sources)))
    what = f"which inputs of {titled(process)} make {titled(output)} is not known"
    return sentence(f"{what}, so all of them count: {inputs}")
