"""`lineage_graph.json`, and the same graph as a folder of Parquet files.

The JSON holds `nodes`, `edges` and, when they are known, `discovered_at` and `coverage`
(`[{"scope", "status", "reason", "count"}]`). Read leniently where nothing is lost by it: ids are opaque,
kinds of node and edge that nobody knows are kept, fields that may be missing are defaulted, and fields that
nobody knows are passed over. Whatever else is wrong is named by its place: `nodes[3].node_id`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, TextIO

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node
from lineage_bridge_dagster.lineage.times import iso

_WRITE_ONE = "Write one with: lineage-bridge extract --output lineage_graph.json"

NODES_FILE = "nodes.parquet"
EDGES_FILE = "edges.parquet"
COVERAGE_FILE = "coverage.parquet"


def load(path: str | os.PathLike[str]) -> Discovery:
    """Read a `lineage_graph.json`, or a folder with `nodes.parquet` and `edges.parquet`.

    Raises:
        ConfigurationError: it is not there, not readable, or malformed; the message names the place.
    """
    path = Path(path)
    if path.is_dir():
        from lineage_bridge_dagster.lineage.graph_parquet import load_folder

        return load_folder(path)
    try:
        # A byte order mark is what some editors leave.
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigurationError(f"There is no {path}.", hint=_WRITE_ONE) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path} is not UTF-8 text (byte {error.start}).", hint="Give a lineage_graph.json. " + _WRITE_ONE
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error
    return loads(text, name=str(path))


def loads(text: str, *, name: str = "the graph") -> Discovery:
    """Read the text of a `lineage_graph.json`; `name` is what messages call it.

    Raises:
        ConfigurationError: it is malformed; the message names the place.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"{name}, line {error.lineno}, column {error.colno}: no JSON: {error.msg}.", hint=_WRITE_ONE
        ) from error
    except RecursionError as error:
        raise ConfigurationError(f"{name} is nested too deeply to be a graph.", hint=_WRITE_ONE) from error
    if not isinstance(document, Mapping):
        raise ConfigurationError(
            f'{name} holds {_kind(document)} where {{"nodes": [...], "edges": [...]}} belongs.',
            hint=_WRITE_ONE,
        )
    discovery = from_records(
        document.get("nodes"),
        document.get("edges"),
        document.get("coverage"),
        discovered_at=document.get("discovered_at"),
        name=name,
    )
    caches = document.get("caches")
    return replace(discovery, caches=caches if isinstance(caches, dict) else {})


def from_records(
    nodes: object, edges: object, coverage: object = None, *, discovered_at: object = None, name: str
) -> Discovery:
    """A discovery from plain lists of mappings, as JSON and Parquet yield them.

    Raises:
        ConfigurationError: a record is malformed; the message names the place.
    """
    graph = Graph()
    for i, record in enumerate(_records(nodes, "nodes", name)):
        graph.add_node(_node(_Record(record, f"nodes[{i}]", name)))
    for i, record in enumerate(_records(edges, "edges", name)):
        graph.add_edge(_edge(_Record(record, f"edges[{i}]", name)))
    reports = Coverage()
    if coverage is not None:
        for i, record in enumerate(_records(coverage, "coverage", name)):
            reports.add(_report(_Record(record, f"coverage[{i}]", name)))
    when = _Record({"discovered_at": discovered_at}, "", name).text("discovered_at")
    return Discovery(graph=graph, coverage=reports, discovered_at=when or "")


def dumps(discovery: Discovery, *, with_caches: bool = False) -> str:
    """Return the text of a `lineage_graph.json`, with one node or edge per line for easy comparison."""
    return "".join(_chunks(discovery, with_caches))


def dump(discovery: Discovery, path: str | os.PathLike[str], *, with_caches: bool = False) -> None:
    """Write a `lineage_graph.json` atomically.

    Args:
        discovery: What to write.
        path: The file.
        with_caches: Write `discovery.caches` too: for a stored state, from which a discovery continues.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    write_atomically(path, _chunks(discovery, with_caches))


def write_atomically(path: str | os.PathLike[str], chunks: Iterable[str]) -> int:
    """Write a text file by way of a neighbour that then takes its name; returns the number of chunks.

    Something that is no regular file (`/dev/stdout`, a pipe) is written as it is.

    Raises:
        ConfigurationError: it cannot be written there. The old file, if any, is untouched.
    """
    # A link stays a link: what it points at is exchanged.
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with target.open("w", encoding="utf-8") as stream:
                return _write_all(stream, chunks)
        beside = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
        try:
            with beside.open("x", encoding="utf-8") as stream:
                count = _write_all(stream, chunks)
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {error.strerror}.",
            hint="Give a path in a folder that you may write to.",
        ) from error
    return count


def _write_all(stream: TextIO, chunks: Iterable[str]) -> int:
    count = 0
    for chunk in chunks:
        stream.write(chunk)
        count += 1
    return count


def _sync_folder(folder: Path) -> None:
    """The new name must outlive a power cut too; not every system lets a folder be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def node_record(node: Node) -> dict[str, Any]:
    """A node's fields as plain data."""
    return {
        "node_id": node.node_id,
        "system": node.system,
        "node_type": str(node.node_type),
        "qualified_name": node.qualified_name,
        "display_name": node.display_name,
        "environment_id": node.environment_id,
        "environment_name": node.environment_name,
        "cluster_id": node.cluster_id,
        "cluster_name": node.cluster_name,
        "catalog_type": node.catalog_type,
        "attributes": dict(node.attributes),
        "tags": list(node.tags),
        "url": node.url,
        "first_seen": node.first_seen,
        "last_seen": node.last_seen,
    }


def edge_record(edge: Edge) -> dict[str, Any]:
    """An edge's fields as plain data."""
    return {
        "src_id": edge.src_id,
        "dst_id": edge.dst_id,
        "edge_type": str(edge.edge_type),
        "confidence": edge.confidence,
        "attributes": dict(edge.attributes),
        "first_seen": edge.first_seen,
        "last_seen": edge.last_seen,
    }


def report_record(report: ScopeReport) -> dict[str, Any]:
    """A scope's report as plain data."""
    return {
        "scope": str(report.scope),
        "status": str(report.status),
        "reason": report.reason,
        "count": report.count,
    }


def to_text(value: object) -> str:
    """Compact JSON on one line. Times become ISO 8601, sets lists, NaN null, anything else its text."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": "), default=_plain)
    except ValueError:
        text = json.dumps(_without_nan(value), ensure_ascii=False, separators=(", ", ": "), default=_plain)
    try:
        text.encode()
    except UnicodeEncodeError:
        # A lone surrogate can stand in JSON only as an escape.
        return json.dumps(_without_nan(value), separators=(", ", ": "), default=_plain)
    return text


def _chunks(discovery: Discovery, with_caches: bool) -> Iterator[str]:
    yield "{\n"
    if discovery.discovered_at:
        yield f'"discovered_at": {to_text(discovery.discovered_at)},\n'
    if with_caches and discovery.caches:
        yield f'"caches": {to_text(discovery.caches)},\n'
    yield '"nodes": ['
    yield from _lines(node_record(node) for node in discovery.graph.nodes.values())
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


def _records(value: object, place: str, name: str) -> list[object]:
    if isinstance(value, list):
        return value
    said = "is missing" if value is None else f"is {_kind(value)}"
    raise ConfigurationError(f"{name}: {place} {said}.", hint=f'Write a list: "{place}": [...]. {_WRITE_ONE}')


class _Record:
    """One mapping of a file, read field by field; whatever is wrong is raised with its place."""

    __slots__ = ("_fields", "_name", "_place")

    def __init__(self, fields: object, place: str, name: str) -> None:
        self._name = name
        self._place = place
        if not isinstance(fields, Mapping):
            raise ConfigurationError(
                f"{name}: {place} is {_kind(fields)}.", hint="Write an object: {...}. " + _WRITE_ONE
            )
        self._fields = fields

    def fail(self, field: str, wanted: str, example: str) -> ConfigurationError:
        value = self._fields.get(field)
        said = "is missing" if value is None else f"is {_kind(value)}"
        if isinstance(value, str | int | float):
            said += f" {str(value)[:60]!r}"
        place = f"{self._place}.{field}" if self._place else field
        return ConfigurationError(
            f"{self._name}: {place} {said}, where {wanted} belongs.", hint=f'Write "{field}": {example}.'
        )

    def required(self, field: str, example: str) -> str:
        value = self._fields.get(field)
        if isinstance(value, str) and value:
            return value
        raise self.fail(field, "a text that is not empty", example)

    def text(self, field: str) -> str | None:
        value = self._fields.get(field)
        if value is None or isinstance(value, str):
            return value or None
        if isinstance(value, datetime):
            return iso(value)
        raise self.fail(field, "a text or null", '"..."')

    def number(self, field: str) -> float:
        value = self._fields.get(field)
        if value is None:
            return 1.0
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        raise self.fail(field, "a number from 0 to 1", "1.0")

    def count(self, field: str) -> int | None:
        value = self._fields.get(field)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise self.fail(field, "a whole number or null", "12")

    def attributes(self) -> dict[str, Any]:
        value = self._fields.get("attributes")
        if value is None:
            return {}
        if isinstance(value, Mapping):
            # Older states hold a cache of parsed SQL here, which is not reused.
            return {name: item for name, item in value.items() if name != "sql_cache"}
        raise self.fail("attributes", "an object", "{...}")

    def tags(self) -> tuple[str, ...]:
        value = self._fields.get("tags")
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
            return tuple(value)
        raise self.fail("tags", "a list of texts", '["..."]')


def _node(record: _Record) -> Node:
    return Node(
        node_id=record.required("node_id", '"confluent:kafka_topic:env-abc123:lkc-abc123/orders"'),
        system=record.text("system") or "",
        node_type=record.required("node_type", '"kafka_topic"'),
        qualified_name=record.required("qualified_name", '"orders"'),
        display_name=record.text("display_name") or "",
        environment_id=record.text("environment_id"),
        environment_name=record.text("environment_name"),
        cluster_id=record.text("cluster_id"),
        cluster_name=record.text("cluster_name"),
        catalog_type=record.text("catalog_type"),
        attributes=record.attributes(),
        tags=record.tags(),
        url=record.text("url"),
        first_seen=record.text("first_seen"),
        last_seen=record.text("last_seen"),
    )


def _edge(record: _Record) -> Edge:
    return Edge(
        src_id=record.required("src_id", "the node_id of the source"),
        dst_id=record.required("dst_id", "the node_id of the destination"),
        edge_type=record.required("edge_type", '"produces"'),
        confidence=record.number("confidence"),
        attributes=record.attributes(),
        first_seen=record.text("first_seen"),
        last_seen=record.text("last_seen"),
    )


def _report(record: _Record) -> ScopeReport:
    scope = record.required("scope", '"connect:env-abc123:lkc-abc123"')
    status = record.required("status", '"complete"')
    if status not in set(Status):
        raise record.fail("status", f"one of {', '.join(Status)}", '"complete"')
    return ScopeReport(Scope.parse(scope), Status(status), record.text("reason") or "", record.count("count"))


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "the text", bool: "a truth value", type(None): "null"}
    return names.get(
        type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}"
    )
