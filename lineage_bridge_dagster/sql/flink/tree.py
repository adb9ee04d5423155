"""The tree of a parsed statement, as the parser process sends it: a flat list of nodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NOTHING = -1
"""In place of a child that is absent, or that can hold neither table nor column."""


@dataclass(frozen=True, slots=True)
class Tree:
    """One statement's syntax tree.

    A node is `["ID", [name parts], [line, column]]` (a `*` is an empty part) or
    `[kind, operator or flags, [children]]`; kinds are Calcite's `SqlKind` names, and class names
    (`SqlCreateView`) for the statements that Flink adds.
    """

    root: int
    nodes: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Tree:
        """Reads the parser's answer for one statement."""
        return cls(root=answer["root"], nodes=answer["nodes"])

    def kind(self, node: int) -> str:
        """The node's kind; empty for one that is absent."""
        return "" if node < 0 else str(self.nodes[node][0])

    def name(self, node: int) -> str:
        """The operator, function or flags of a node that is no identifier."""
        return str(self.nodes[node][1])

    def children(self, node: int) -> Sequence[int]:
        """Indexes of the children, absent ones as -1; none for an identifier."""
        if node < 0 or self.nodes[node][0] == "ID":
            return ()
        children: Sequence[int] = self.nodes[node][2]
        return children

    def child(self, node: int, at: int) -> int:
        """Index of one child; -1 when it is absent."""
        children = self.children(node)
        return children[at] if at < len(children) else NOTHING

    def path(self, node: int) -> tuple[str, ...]:
        """The parts of an identifier; empty for anything else."""
        return tuple(self.nodes[node][1]) if self.kind(node) == "ID" else ()
