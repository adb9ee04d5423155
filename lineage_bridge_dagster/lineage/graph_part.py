"""Reading the part of a large `lineage_graph.json` that is downstream of some nodes.

Of each line as `graph_json` writes it, only the start is read to find the part; only the lines of the part
are parsed. A file of another form, and a folder of Parquet, is read as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.lineage.graph_json import load, loads
from lineage_bridge_dagster.lineage.model import FLOW_EDGES, EdgeType

_NODE, _NAME = b'{"node_id": "', b'"qualified_name": "'
_SOURCE, _TARGET, _KIND = b'{"src_id": "', b'", "dst_id": "', b'", "edge_type": "'
_FLOW = frozenset(kind.encode() for kind in FLOW_EDGES)
_SCHEMA = EdgeType.HAS_SCHEMA.encode()


class _OtherFormError(ValueError):
    """The file is not as `graph_json` writes it."""


def load_downstream(path: Path, names: Collection[str], whole: Collection[str] = ()) -> Discovery:
    """Read what is downstream of nodes, with all that its nodes are directly made of, and topics' schemas.

    Topics are downstream of their schemas, and schemas come with those that they refer to.

    Args:
        path: A `lineage_graph.json`, or a folder with `nodes.parquet` and `edges.parquet`.
        names: Qualified names of the nodes. Nodes of several kinds and clusters may have one.
        whole: Kinds of which all nodes are read.

    Raises:
        ConfigurationError: It is missing, unreadable or malformed; the message gives the location.
    """
    if path.is_file() and path.stat().st_size:
        try:
            with path.open("rb") as file, no_garbage_collection():
                return loads(_part(file, names, whole), name=str(path))
        except ValueError:
            pass
    return load(path)


def _part(file: BinaryIO, names: Collection[str], whole: Collection[str]) -> str:
    """The document of the part.

    Raises:
        _OtherFormError: The lines are others.
    """
    wanted = _spelled(names)
    head, nodes_at = _until(file, b'"nodes": [\n')
    kinds = [f'", "node_type": "{kind}", "qualified_name": "'.encode() for kind in whole]
    starts: list[bytes] = []
    others: list[bytes] = []
    offsets: dict[bytes, int] = {}
    offset = nodes_at
    for line in file:
        if not line.startswith(_NODE):
            break
        node_id = line[len(_NODE) : _end(line, len(_NODE))]
        offsets[node_id] = offset
        offset += len(line)
        if _name(line) in wanted:
            starts.append(node_id)
        elif any(kind in line for kind in kinds):
            others.append(node_id)
    if line != b"],\n":
        raise _OtherFormError
    _, edges_at = _until(file, b'"edges": [\n', offset + len(line))
    part, schemas = _closure(file, starts)
    edges, rest = [], b""
    file.seek(edges_at)
    for line in file:
        if not line.startswith(_SOURCE):
            rest = line + file.read()
            break
        source, target, _ = _edge(line)
        if source in part and (target in part or target in schemas):
            edges.append(line.rstrip(b",\n"))
    places = {offsets[node_id] for node_id in (part | schemas).union(others) & offsets.keys()}
    found = {place: _line(file, place) for place in sorted(places)}
    new = [found[offsets[node_id]] for node_id in schemas & offsets.keys()]
    known: set[str] = set()
    while subjects := {subject for line in new for subject in _referred(line)} - known:
        known |= subjects
        wanted, new = _spelled(subjects), []
        file.seek(nodes_at)
        for place in offsets.values():
            line = file.readline()
            if _name(line) in wanted:
                new.append(found.setdefault(place, line.rstrip(b",\n")))
    nodes = [found[place] for place in sorted(found)]
    text = head + b'"nodes": [' + b",\n".join(nodes) + b'],\n"edges": [' + b",\n".join(edges) + rest
    return text.decode()


def _spelled(names: Collection[str]) -> set[bytes]:
    """How lines may spell names."""
    texts = (json.dumps(name, ensure_ascii=ascii_only) for name in names for ascii_only in (True, False))
    return {text.encode()[1:-1] for text in texts}


def _name(line: bytes) -> bytes:
    start = line.index(_NAME) + len(_NAME)
    return line[start : _end(line, start)]


def _line(file: BinaryIO, offset: int) -> bytes:
    file.seek(offset)
    return file.readline().rstrip(b",\n")


def _referred(line: bytes) -> Iterator[str]:
    """The subjects that the schema of a line refers to."""
    attributes = json.loads(line).get("attributes") if b'"references": [{' in line else None
    for each in attributes.get("references") or () if isinstance(attributes, dict) else ():
        if isinstance(each, dict) and isinstance(each.get("subject"), str):
            yield each["subject"]


def _closure(file: BinaryIO, starts: Collection[bytes]) -> tuple[set[bytes], set[bytes]]:
    """The nodes downstream of some nodes with what these are made of, and the schemas of the topics."""
    below: dict[bytes, list[bytes]] = {}
    above: dict[bytes, list[bytes]] = {}
    schemas: dict[bytes, list[bytes]] = {}
    begin = set(starts)
    for line in file:
        if not line.startswith(_SOURCE):
            break
        source, target, kind = _edge(line)
        if kind in _FLOW:
            below.setdefault(source, []).append(target)
            above.setdefault(target, []).append(source)
        elif kind == _SCHEMA:
            schemas.setdefault(source, []).append(target)
            if target in begin:
                begin.add(source)
    # Whoever writes a start is concerned, too.
    pending = [*begin, *(writer for start in begin for writer in above.get(start, ()))]
    reached: set[bytes] = set()
    while pending:
        node_id = pending.pop()
        if node_id not in reached:
            reached.add(node_id)
            pending += below.get(node_id, ())
    part = reached.union(*(above.get(node_id, ()) for node_id in reached))
    return part, {schema for node_id in part for schema in schemas.get(node_id, ())}


def _edge(line: bytes) -> tuple[bytes, bytes, bytes]:
    source = _end(line, len(_SOURCE))
    target = _end(line, source + len(_TARGET))
    kind = line.index(b'"', target + len(_KIND))
    if not (line.startswith(_TARGET, source) and line.startswith(_KIND, target)):
        raise _OtherFormError
    return (
        line[len(_SOURCE) : source],
        line[source + len(_TARGET) : target],
        line[target + len(_KIND) : kind],
    )


def _end(line: bytes, start: int) -> int:
    """Where a text ends that starts here."""
    end = line.index(b'"', start)
    while (end - len(line[start:end].rstrip(b"\\")) - start) % 2:
        # The quote is escaped: an odd number of backslashes is before it.
        end = line.index(b'"', end + 1)
    return end


def _until(file: BinaryIO, start: bytes, offset: int = 0) -> tuple[bytes, int]:
    """The text before the line that opens a list, and the offset behind that line.

    Raises:
        _OtherFormError: No line opens such a list.
    """
    before: list[bytes] = []
    for line in file:
        offset += len(line)
        if line == start:
            return b"".join(before), offset
        before.append(line)
        if line.startswith(start[:-1]):
            break
    raise _OtherFormError
