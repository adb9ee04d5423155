"""What discovery read but could not resolve: a process stays in the graph, and what is unknown is named.

Unlike a scope that could not be read, this hides nothing that the next discovery would find. It changes no
scope's status, and holds back neither pushes nor removals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from lineage_bridge_dagster.lineage.coverage import Coverage, Note, Scope
from lineage_bridge_dagster.lineage.model import Graph, Node, scopes_of
from lineage_bridge_dagster.lineage.nodes import ConnectorNode
from lineage_bridge_dagster.text import first_few, plural

#: Attribute of a process or a schema: the kinds of what is unknown about it.
UNKNOWN = "unknown"


class Unknown(StrEnum):
    """A kind of what is unknown about a process or a schema."""

    CLASS = "connector_class"
    TRANSFORM = "transform"
    TOPICS = "topics"
    DATASETS = "datasets"
    INPUTS = "inputs"
    EXTERNAL = "external_tables"
    SQL = "sql"
    SCHEMA = "schema"


#: Kind of the notes on topics that connectors should write and that do not exist.
ABSENT_TOPICS = "absent_topics"
#: Kinds of the notes on Glue databases whose tables are in another catalog.
LINKED_DATABASES = "linked_databases"
FEDERATED_DATABASES = "federated_databases"
#: Kind of the notes on Glue tables of other accounts and regions that connectors write.
ELSEWHERE_TABLES = "tables_elsewhere"
#: Kind of the notes on namespaces of REST catalogs with tables that are not assets.
UNCONNECTED_TABLES = "unconnected_tables"
#: Kind of the notes on tables of REST catalogs that could not be loaded, while others were.
UNREADABLE_TABLES = "unreadable_tables"
#: Kind of the notes on properties of REST catalogs and their tables that are not heeded.
LEFT_OUT = "properties_left_out"

#: Kinds of the notes on sources of OpenLineage events: events that are refused, and jobs, or flows of them,
#: that no run has shown for too long.
REFUSED_EVENTS = "refused_events"
AGED_OUT = "aged_out"

#: Singular noun and the rest of a phrase that counts what a note names, by kind.
_PHRASES: Mapping[str, tuple[str, str]] = {
    Unknown.CLASS: ("connector", "of an unknown class"),
    Unknown.TRANSFORM: ("connector", "with a transform whose effect is not fully known"),
    Unknown.TOPICS: ("connector", "whose topics are not all known"),
    Unknown.DATASETS: ("connector", "whose datasets are not all known"),
    Unknown.INPUTS: ("statement", "of which it is not known what feeds which output"),
    Unknown.EXTERNAL: ("statement", "with external tables whose datasets are not known"),
    Unknown.SQL: ("statement", "that could not be parsed"),
    Unknown.SCHEMA: ("subject", "whose schema is too deep or too large to read all of its fields"),
    ABSENT_TOPICS: ("topic", "missing that connectors should write"),
    LINKED_DATABASES: ("linked database", "whose tables are not read"),
    FEDERATED_DATABASES: ("federated database", "whose tables are not read"),
    ELSEWHERE_TABLES: (
        "Glue table",
        "of another account or region that connectors write, and that is not read",
    ),
    UNCONNECTED_TABLES: (
        "namespace",
        "with tables that no known process writes (discover: all of the catalog makes them assets)",
    ),
    UNREADABLE_TABLES: ("table", "that could not be loaded"),
    REFUSED_EVENTS: ("event", "without lineage"),
    AGED_OUT: ("flow", "left out, as no run shows it any more"),
    LEFT_OUT: (
        "source",
        "of properties that are not heeded, since only our own configuration may set them",
    ),
}


def unknowns_of(node: Node) -> Sequence[str]:
    """The kinds of what is unknown about a node, most often of `Unknown`; empty for most nodes."""
    found = node.unknown
    return (*found, Unknown.SQL) if node.parse_error else found


def with_notes(coverage: Coverage, graph: Graph) -> Coverage:
    """Return the coverage with notes on what the nodes of each scope leave open, and on absent topics."""
    names: dict[Scope, dict[str, set[str]]] = {}
    for node in graph.nodes.values():
        for kind, name in _open_points(node):
            for scope in scopes_of(node.attributes):
                names.setdefault(Scope.parse(scope), {}).setdefault(kind, set()).add(name)
    return Coverage(
        replace(report, notes=_notes(names.get(report.scope, {}))) if report.scope in names else report
        for report in coverage
    )


def note_text(note: Note) -> str:
    """A note as a phrase, such as `2 connectors of an unknown class: a, b`."""
    noun, rest = _PHRASES.get(note.kind, ("node", f"with unknown {note.kind.replace('_', ' ')}"))
    return f"{plural(len(note.names), noun)} {rest}: {first_few(note.names, 3)}"


def note_lines(coverage: Coverage) -> list[tuple[Scope, str]]:
    """The scopes that have notes, sorted, with each note as a phrase."""
    reports = sorted(coverage, key=lambda report: report.scope)
    return [(report.scope, note_text(note)) for report in reports for note in report.notes]


def _open_points(node: Node) -> Iterator[tuple[str, str]]:
    """The kind of each note on a node, and the name that it gives."""
    for kind in unknowns_of(node):
        yield kind, node.label
    for topic in node.absent_topics if isinstance(node, ConnectorNode) else ():
        yield ABSENT_TOPICS, f"{topic} ({node.label})"


def _notes(names: Mapping[str, Iterable[str]]) -> tuple[Note, ...]:
    return tuple(sorted(Note(kind, tuple(sorted(found))) for kind, found in names.items()))
