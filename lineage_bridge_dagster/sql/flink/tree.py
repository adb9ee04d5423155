"""Parsed SQL: the syntax tree of a statement as the parser process returns it, and texts of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.sql.statement import SqlStatement, TablePath, TextLineage

ABSENT = -1
"""Index of a child that is missing or cannot contain a table or a column."""

SET_OPERATIONS = frozenset({"UNION", "INTERSECT", "EXCEPT"})
QUERIES = SET_OPERATIONS | {"SELECT", "ORDER_BY", "WITH", "EXPLICIT_TABLE", "VALUES"}

TABLE_WRAPPERS = frozenset(
    {
        *("AS", "EXTEND", "LATERAL", "MATCH_RECOGNIZE", "PIVOT", "SNAPSHOT"),
        *("TABLESAMPLE", "TABLE_REF", "TABLE_REF_WITH_ID", "UNPIVOT"),
    }
)
"""Kinds whose first child is a table that the others qualify: an alias, a hint, a time, a pattern, ..."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Syntax tree of one statement.

    A node is `["ID", [name parts], [line, column]]` (a `*` is an empty part) or
    `[kind, operator or flags, [children]]`. Kinds are Calcite's `SqlKind` names, and class names
    (`SqlCreateView`) for the statements that Flink adds. Notes say what a node has besides, by its index:
    literals as digests, the name of a scalar type, `DISTINCT`.
    """

    root: int
    nodes: Sequence[Sequence[Any]]
    notes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, response: Mapping[str, Any]) -> Tree:
        """Read the parser's response for one statement."""
        return cls(root=response["root"], nodes=response["nodes"], notes=response.get("notes", {}))

    @property
    def statement(self) -> int:
        """Index of the statement that `EXECUTE` or `COMPILE AND EXECUTE PLAN` runs, else of the root."""
        node = self.root
        while self.kind(node) in ("SqlExecute", "SqlCompileAndExecutePlan"):
            node = next((child for child in self.children(node) if child != ABSENT), ABSENT)
        return node

    def kind(self, node: int) -> str:
        """Kind of a node; empty for an absent one."""
        return "" if node < 0 else str(self.nodes[node][0])

    def name(self, node: int) -> str:
        """Operator, function or flags of a node that is not an identifier."""
        return str(self.nodes[node][1])

    def note(self, node: int) -> str:
        """What a node has besides its children; empty if nothing. `2#1f;`: its third child is a literal."""
        return self.notes.get(str(node), "")

    def literals(self, node: int) -> dict[int, str]:
        """The digests of the children that are literals, by their position."""
        found = (part.partition("#") for part in self.note(node).split(";") if "#" in part)
        return {int(at): digest for at, _, digest in found if at.isdecimal()}

    def children(self, node: int) -> Sequence[int]:
        """Indexes of the children, -1 for absent ones; none for an identifier."""
        if node < 0 or self.nodes[node][0] == "ID":
            return ()
        children: Sequence[int] = self.nodes[node][2]
        return children

    def child(self, node: int, index: int) -> int:
        """Index of one child; -1 when it is absent."""
        children = self.children(node)
        return children[index] if index < len(children) else ABSENT

    def path(self, node: int) -> TablePath:
        """Parts of an identifier; empty for any other node."""
        return tuple(self.nodes[node][1]) if self.kind(node) == "ID" else ()

    def queries(self, node: int) -> Iterator[int]:
        """The queries in an expression, without those within them."""
        pending = [node]
        while pending:
            node = pending.pop()
            if self.kind(node) in QUERIES:
                yield node
            else:
                pending.extend(self.children(node))

    def names(self, nodes: Sequence[int]) -> list[str]:
        """Last parts of those nodes that are identifiers."""
        return [path[-1] for node in nodes if (path := self.path(node))]

    def options(self, node: int) -> dict[str, str]:
        """The options of a WITH that may be kept; the parser drops the others (`TreeWriter`)."""
        flat = self.path(node)
        return dict(zip(flat[::2], flat[1::2], strict=True))

    def target(self, node: int) -> TablePath:
        """Path of the table that a statement writes, without alias or hints."""
        while self.kind(node) in TABLE_WRAPPERS:
            node = self.child(node, 0)
        return self.path(node)


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A text as parsed, with the session in which its names are resolved.

    Attributes:
        lineage: Tables that it reads and writes.
        trees: One for each of the lineage's statements, None for a rejected one. Empty when only the lineage
            is known; columns cannot be derived then.
        catalog: Current catalog (`sql.current-catalog`) when the text starts; empty when unknown.
        database: Current database (`sql.current-database`), likewise.
    """

    lineage: TextLineage
    trees: tuple[Tree | None, ...] = ()
    catalog: str = ""
    database: str = ""

    @property
    def statements(self) -> tuple[SqlStatement, ...]:
        """The statements of the text."""
        return self.lineage.statements
