"""Reading and writing `lineage_graph.json`.

The document holds `nodes`, `edges` and, where known, `discovered_at` and `coverage`
(`[{"scope", "status", "reason", "count"}]`). A stored state holds its `format` and `caches` too.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, TextIO

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.formats import DISCOVERY
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.equal_values import EqualValues
from lineage_bridge_dagster.lineage.files import parse_json, read_text, write_atomically
from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.lineage.graph_records import (
    HOW_TO_WRITE_ONE,
    discovery_of,
    edge_record,
    node_record,
    plain_edge,
    plain_node,
    report_record,
    shown_node,
)
from lineage_bridge_dagster.lineage.json_record import describe_type
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.times import iso


def load(path: str | os.PathLike[str]) -> Discovery:
    """Read a `lineage_graph.json`, or a folder with `nodes.parquet` and `edges.parquet`; `-` is stdin.

    Raises:
        ConfigurationError: It is missing, unreadable or malformed; the message gives the location.
        NewerFormatError: It is the state of a newer version of this project.
    """
    path = Path(path)
    if path.is_dir():
        from lineage_bridge_dagster.lineage.graph_parquet import load_folder

        return load_folder(path)
    if path.is_file():
        # What is written otherwise, or has an error, is read again as a whole, which tells where that is.
        with contextlib.suppress(ValueError, RecursionError, OSError, ConfigurationError):
            return read_lines(path)
    return loads(read_text(path, HOW_TO_WRITE_ONE), name=str(path))


def loads(text: str, *, name: str = "the graph") -> Discovery:
    """Parse the text of a `lineage_graph.json`; error messages call it by `name`.

    Raises:
        ConfigurationError: It is malformed; the message gives the location.
        NewerFormatError: It is the state of a newer version of this project.
    """
    document = parse_json(text, name, HOW_TO_WRITE_ONE)
    if not isinstance(document, Mapping):
        raise ConfigurationError(
            f'{name} holds {describe_type(document)}; expected {{"nodes": [...], "edges": [...]}}.',
            hint=HOW_TO_WRITE_ONE,
        )
    DISCOVERY.check(document.get(DISCOVERY.key), name)
    discovery = discovery_of(
        document.get("nodes"),
        document.get("edges"),
        document.get("coverage"),
        discovered_at=document.get("discovered_at"),
        name=name,
    )
    caches = document.get("caches")
    return replace(discovery, caches=caches if isinstance(caches, dict) else {})


def dumps(discovery: Discovery, *, with_caches: bool = False) -> str:
    """Return the text of a `lineage_graph.json`, with one node or edge per line for easy comparison."""
    return "".join(_chunks(discovery, with_caches))


def dump(discovery: Discovery, path: str | os.PathLike[str], *, with_caches: bool = False) -> None:
    """Write a `lineage_graph.json` atomically.

    Args:
        with_caches: Write the format and `discovery.caches` too: for a stored state, from which a discovery
            continues.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    write_atomically(path, _chunks(discovery, with_caches))


def to_text(value: object) -> str:
    """Compact JSON on one line. Times become ISO 8601, sets lists, NaN null, anything else a string."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": "), default=_plain)
    except ValueError:
        text = json.dumps(_without_nan(value), ensure_ascii=False, separators=(", ", ": "), default=_plain)
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON can hold a lone surrogate only as an escape.
        return json.dumps(_without_nan(value), separators=(", ", ": "), default=_plain)
    return text


def _chunks(discovery: Discovery, with_caches: bool) -> Iterator[str]:
    yield "{\n"
    if with_caches:
        yield f'"{DISCOVERY.key}": {DISCOVERY.version},\n'
    if discovery.discovered_at:
        yield f'"discovered_at": {to_text(discovery.discovered_at)},\n'
    if with_caches and discovery.caches:
        yield f'"caches": {to_text(discovery.caches)},\n'
    yield '"nodes": ['
    yield from _lines(node_record(shown_node(node)) for node in discovery.graph.nodes.values())
    yield '],\n"edges": ['
    yield from _lines(edge_record(edge) for edge in discovery.graph.edges.values())
    # A push removes nothing without coverage, so an empty one is left out.
    if len(discovery.coverage):
        yield '],\n"coverage": ['
        yield from _lines(
            report_record(report) for report in sorted(discovery.coverage, key=lambda r: r.scope)
        )
    yield "]\n}\n"


def _lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    separator = "\n"
    for record in records:
        yield separator + to_text(record)
        separator = ",\n"
    if separator != "\n":
        yield "\n"


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def _without_nan(value: object) -> object:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, Mapping):
        return {str(key): _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return value


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
