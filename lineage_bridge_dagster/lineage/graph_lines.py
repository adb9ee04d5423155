"""Reading a `lineage_graph.json` line by line, as `graph_json` writes it: one node, edge or report on each.

Neither its text nor the records of more than one line are in memory then, and equal values are held once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from lineage_bridge_dagster.formats import DISCOVERY
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.equal_values import EqualValues
from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.lineage.graph_records import discovery_of, plain_edge, plain_node
from lineage_bridge_dagster.lineage.model import Graph


class OtherFormError(ValueError):
    """A line is not one that `graph_json` writes. The file may still hold a graph."""


def read_lines(path: Path) -> Discovery:
    """Read a file.

    Raises:
        ValueError: It is not UTF-8, not JSON, or of another form.
        RecursionError: A record is nested too deeply.
        ConfigurationError: A record is malformed.
        NewerFormatError: A newer version of this project stored it.
        OSError: It cannot be read.
    """
    graph, equal = Graph(), EqualValues()
    with path.open(encoding="utf-8") as file, no_garbage_collection():
        lines = _Lines(file)
        lines.expect("{\n")
        DISCOVERY.check(lines.field(DISCOVERY.key), str(path))
        discovered_at, caches = lines.field("discovered_at"), lines.field("caches")
        discovery = discovery_of(
            (plain_node(record, equal) or record for record in lines.listed("nodes")),
            (plain_edge(record, equal, graph) or record for record in lines.listed("edges")),
            lines.listed("coverage", is_optional=True),
            discovered_at=discovered_at,
            name=str(path),
            graph=graph,
        )
        lines.end()
    return replace(discovery, caches=caches if isinstance(caches, dict) else {})


class _Lines:
    """The lines of a file, the next of which is known."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._next = file.readline()
        self._is_last_list = False
        self._decode = json.JSONDecoder().raw_decode

    def expect(self, line: str) -> None:
        """Skip the next line.

        Raises:
            OtherFormError: It is not.
        """
        if self._next != line:
            raise OtherFormError(f"expected {line!r}")
        self._next = self._file.readline()

    def field(self, name: str) -> Any:
        """The value of a field that is the next line; None if that is another one."""
        start = f'"{name}": '
        if not self._next.startswith(start):
            return None
        value, end = self._decode(self._next, len(start))
        self.expect(self._next[:end] + ",\n")
        return value

    def listed(self, name: str, *, is_optional: bool = False) -> Iterator[Any]:
        """The values of a list, with one on each line.

        Raises:
            ValueError: The lines are others.
        """
        if self._is_last_list:
            if not is_optional:
                raise OtherFormError(f"expected {name}")
            return
        start = f'"{name}": ['
        if self._next != start + "\n":
            # It is empty.
            self._end_list(self._next.removeprefix(start) if self._next.startswith(start) else "")
            return
        readline, decode, rest = self._file.readline, self._decode, ",\n"
        while rest == ",\n":
            line = readline()
            value, end = decode(line)
            rest = line[end:]
            yield value
        if rest != "\n":
            raise OtherFormError(f"expected the end of a line of {name}")
        self._next = readline()
        self._end_list(self._next)

    def _end_list(self, line: str) -> None:
        if line not in ("],\n", "]\n"):
            raise OtherFormError("expected the end of a list")
        self._is_last_list = line == "]\n"
        self._next = self._file.readline()

    def end(self) -> None:
        """See that the document ends here.

        Raises:
            OtherFormError: It does not.
        """
        if not self._is_last_list:
            raise OtherFormError("expected the last list")
        self.expect("}\n")
        self.expect("")
