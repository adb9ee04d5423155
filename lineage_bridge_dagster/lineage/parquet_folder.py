"""Writing a graph as a folder of Parquet files.

The columns are the fields of `lineage_graph.json`, with `attributes` and `tags` as JSON text; `graph_parquet`
reads them. The metadata of each file says which graph it is part of.
"""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.canonical_json import canonical_json
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_records import edge_record, node_record, report_record
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.other_forms import read_other_forms
from lineage_bridge_dagster.lineage.sql_policy import mode_of
from lineage_bridge_dagster.lineage.text import clean

T = TypeVar("T")

NODES, EDGES, COVERAGE = "nodes.parquet", "edges.parquet", "coverage.parquet"

#: The columns that hold JSON text.
JSON_COLUMNS = ("attributes", "tags")

#: Key of the files' metadata, and the version of what our files hold, raised when a column changes.
_KEY, _VERSION = b"lineage_bridge", 2

#: Rows that are held at once.
_PART_ROWS = 50_000


def _texts(*names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, pa.string()) for name in names]


_NODES = pa.schema(
    _texts(
        *("node_id", "system", "node_type", "qualified_name", "display_name"),
        *("environment_id", "environment_name", "cluster_id", "cluster_name", "catalog_type"),
        *("attributes", "tags", "url", "first_seen", "last_seen"),
    )
)
_EDGES = pa.schema(
    [
        *_texts("src_id", "dst_id", "edge_type"),
        ("confidence", pa.float64()),
        *_texts("attributes", "first_seen", "last_seen"),
    ]
)
_COVERAGE = pa.schema(
    [
        *_texts("scope", "status", "reason"),
        ("count", pa.int64()),
        ("by_name", pa.bool_()),
        ("notes", pa.list_(pa.struct([("kind", pa.string()), ("names", pa.list_(pa.string()))]))),
    ]
)


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the metadata of a folder's files says about the graph as a whole.

    All facts in such a folder are where our readers look for them, as after `read_other_forms`.

    Attributes:
        sql: the mode that limits the statements in it, one of `SQL_MODES`; None if they are as written.
        discovered_at: ISO 8601, may be empty.
        id: equal in all files that were written together.
    """

    sql: str | None
    discovered_at: str
    id: str

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The metadata of a file's schema."""
        known = {"version": _VERSION, "sql": self.sql, "discovered_at": self.discovered_at, "id": self.id}
        return {_KEY: json.dumps(known).encode()}

    @classmethod
    def of_folder(cls, folder: Path) -> Provenance | None:
        """Read it from a folder; None if someone else or a later version wrote it, or it cannot be read.

        Raises:
            ConfigurationError: its files were not written together.
        """
        nodes, edges, coverage = (folder / name for name in (NODES, EDGES, COVERAGE))
        files = [nodes, edges, *([coverage] if coverage.exists() else [])]
        try:
            found = [cls._of_metadata(pq.read_schema(file).metadata) for file in files]
        except (pa.ArrowException, OSError):
            return None
        if len(set(found)) > 1:
            raise ConfigurationError(
                f"The files in {folder} are not of one graph: they were written at different times.",
                hint="Write the folder again, with: lineage-bridge extract --format parquet --output FOLDER",
            )
        return found[0]

    @classmethod
    def _of_metadata(cls, metadata: Mapping[bytes, bytes] | None) -> Provenance | None:
        try:
            known = json.loads((metadata or {})[_KEY])
            if known["version"] != _VERSION:
                return None
            return cls(known["sql"], known["discovered_at"], known["id"])
        except (KeyError, TypeError, ValueError):
            return None


def dump_folder(discovery: Discovery, folder: Path) -> None:
    """Write a discovery to a folder, which is replaced as a whole once everything is written.

    Raises:
        ConfigurationError: the folder cannot be written, or holds other files.
    """
    _check_replaceable(folder)
    graph = Graph(discovery.graph.nodes.values(), discovery.graph.edges.values())
    read_other_forms(graph)
    provenance = Provenance(mode_of(discovery), discovery.discovered_at, uuid.uuid4().hex)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as place:
            new = Path(place) / "new"
            new.mkdir()
            _write(new / NODES, _NODES, graph.nodes.values(), node_record, provenance)
            _write(new / EDGES, _EDGES, graph.edges.values(), edge_record, provenance)
            if len(discovery.coverage):
                _write(new / COVERAGE, _COVERAGE, discovery.coverage, report_record, provenance)
            if folder.exists():
                folder.rename(Path(place) / "old")
            new.rename(folder)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write {folder}: {error.strerror}.", hint="Choose a folder that you may write to."
        ) from error


def _check_replaceable(folder: Path) -> None:
    if not folder.exists():
        return
    hint = "Choose a folder that does not exist yet, or one with an earlier graph alone."
    if not folder.is_dir():
        raise ConfigurationError(f"{folder} is a file.", hint=hint)
    if others := {file.name for file in folder.iterdir()} - {NODES, EDGES, COVERAGE}:
        raise ConfigurationError(f"{folder} is not a graph folder: it also holds {min(others)}.", hint=hint)


def _write(
    path: Path,
    schema: pa.Schema,
    entries: Iterable[T],
    record_of: Callable[[T], Mapping[str, Any]],
    provenance: Provenance,
) -> None:
    rest = map(record_of, entries)
    with pq.ParquetWriter(path, schema.with_metadata(provenance.metadata), compression="zstd") as writer:
        while part := list(islice(rest, _PART_ROWS)):
            arrays = [_array([record.get(field.name) for record in part], field) for field in schema]
            writer.write_table(pa.table(arrays, schema=schema), _PART_ROWS)


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    if field.name in JSON_COLUMNS:
        values = [canonical_json(value) for value in values]
    try:
        return pa.array(values, field.type)
    except UnicodeEncodeError:
        # JSON may have lone surrogates, and UTF-8 may not.
        return pa.array([clean(value) if isinstance(value, str) else value for value in values], field.type)
