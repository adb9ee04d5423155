"""Reading a graph from a folder of Parquet files.

The columns are the fields of `lineage_graph.json`, with `attributes` and `tags` as JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.json_text import json_value
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.equal_values import EqualValues
from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.lineage.graph_records import discovery_of, known_id
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node
from lineage_bridge_dagster.lineage.nodes import loaded_node
from lineage_bridge_dagster.lineage.parquet_folder import COVERAGE, EDGES, JSON_COLUMNS, NODES, Provenance
from lineage_bridge_dagster.lineage.sql_policy import limited_to

_HINT = "Give a folder with nodes.parquet and edges.parquet, `attributes` and `tags` in them as JSON text."
T = TypeVar("T")

#: The columns that are read; a folder may have others.
_FIELDS = frozenset(
    [
        *(field.name for entry in (Node, Edge) for field in fields(entry)),
        *("scope", "status", "reason", "count", "by_name", "notes"),
    ]
)

#: Rows of a batch, and texts whose values are remembered: most edges have the attributes of many others.
_BATCH_ROWS, _JSON_TEXTS = 16_384, 1_024


def load_folder(folder: Path) -> Discovery:
    """Read `nodes.parquet`, `edges.parquet` and, if it exists, `coverage.parquet`.

    Raises:
        ConfigurationError: A file is missing, not Parquet, or malformed; the message gives the location.
            Or the files are not of one graph.
    """
    nodes, edges, coverage = (folder / name for name in (NODES, EDGES, COVERAGE))
    for path in (nodes, edges):
        if not path.exists():
            raise ConfigurationError(f"{path} does not exist.", hint=_HINT)
    known = Provenance.of_folder(folder)
    graph, equal = Graph(), EqualValues()
    # Nothing that is read here becomes garbage before the end, so looking for some would only cost time.
    with no_garbage_collection():
        discovery = discovery_of(
            _entries(nodes, "nodes", equal, _plain_nodes),
            _entries(edges, "edges", equal, partial(_plain_edges, graph)),
            _entries(coverage, "coverage", equal) if coverage.exists() else None,
            name=str(folder),
            graph=graph,
        )
    if known is None:
        return discovery
    caches = {} if known.sql is None else limited_to(known.sql)
    return replace(discovery, discovered_at=known.discovered_at, caches=caches)


def _entries(
    path: Path,
    location: str,
    equal: EqualValues,
    plain: Callable[[_Columns], Iterator[Any] | None] = lambda _: None,
) -> Iterator[Any]:
    """The rows of a file, a batch at a time: made from whole columns if all is plain in them, else records.

    Equal values are held once.
    """

    @lru_cache(maxsize=_JSON_TEXTS)
    def parsed(text: str) -> Any:
        value = json_value(text)
        return equal.attributes(value) if type(value) is dict else equal.value(value)

    first = 0
    try:
        with pq.ParquetFile(path) as file:
            known = [name for name in file.schema_arrow.names if name in _FIELDS]
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=known):
                columns = {
                    name: list(_parsed(_values(column), parsed, f"{path}: {location}", name, first))
                    if name in JSON_COLUMNS
                    else _values(column, equal.text)
                    for name, column in zip(batch.schema.names, batch.columns, strict=True)
                }
                texts = {
                    field.name
                    for field in batch.schema
                    if field.name not in JSON_COLUMNS
                    and (_is_text(field.type) or pa.types.is_null(field.type))
                }
                if (entries := plain(_Columns(columns, texts, batch.num_rows))) is not None:
                    yield from entries
                else:
                    for row in zip(*columns.values(), strict=True):
                        yield dict(zip(columns, row, strict=True))
                first += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise ConfigurationError(f"{path} is not a readable Parquet file: {error}", hint=_HINT) from error


@dataclass(frozen=True, slots=True)
class _Columns:
    values: Mapping[str, list[Any]]
    texts: Collection[str]
    rows: int

    def required(self, name: str) -> list[str] | None:
        """Texts that are not empty; None if one is, or is missing."""
        values = self.values.get(name)
        return values if values is not None and name in self.texts and all(values) else None

    def optional(self, name: str, default: str | None = None) -> Iterable[str | None] | None:
        """Texts, with a default for empty and missing ones; None if there is something else."""
        values = self.values.get(name)
        if values is None:
            return repeat(default, self.rows)
        return [value or default for value in values] if name in self.texts else None

    def attributes(self) -> Iterable[dict[str, Any]] | None:
        """Objects; None if there is something else, or the cache of parsed SQL that older states hold."""
        values = self.values.get("attributes", [None] * self.rows)
        if any(value is not None and (type(value) is not dict or "sql_cache" in value) for value in values):
            return None
        return [{} if value is None else value for value in values]

    def tags(self) -> Iterable[tuple[str, ...]] | None:
        """Lists of texts; None if there is something else."""
        values = self.values.get("tags", [None] * self.rows)
        for value in values:
            if value and not (type(value) is list and all(isinstance(item, str) for item in value)):
                return None
        return [tuple(value) if value else () for value in values]

    def confidences(self) -> Iterable[float] | None:
        """Numbers from 0 to 1; None if there is something else."""
        values = self.values.get("confidence", [None] * self.rows)
        if any(value is not None and not (type(value) is float and 0 <= value <= 1) for value in values):
            return None
        return [1.0 if value is None else value for value in values]


def _plain_nodes(columns: _Columns) -> Iterator[Node] | None:
    return _built(
        loaded_node,
        columns.required("node_id"),
        columns.optional("system", ""),
        columns.required("node_type"),
        columns.required("qualified_name"),
        columns.optional("display_name", ""),
        columns.optional("environment_id"),
        columns.optional("environment_name"),
        columns.optional("cluster_id"),
        columns.optional("cluster_name"),
        columns.optional("catalog_type"),
        columns.attributes(),
        columns.tags(),
        *(columns.optional(name) for name in ("url", "first_seen", "last_seen")),
    )


def _plain_edges(graph: Graph, columns: _Columns) -> Iterator[Edge] | None:
    ends = columns.required("src_id"), columns.required("dst_id")
    return _built(
        Edge,
        *(ids and [known_id(node_id, graph) for node_id in ids] for ids in ends),
        columns.required("edge_type"),
        columns.confidences(),
        columns.attributes(),
        *(columns.optional(name) for name in ("first_seen", "last_seen")),
    )


def _built(make: Callable[..., T], *columns: Iterable[Any] | None) -> Iterator[T] | None:
    """An entry of each row; None if a column is not plain."""
    given = [column for column in columns if column is not None]
    return map(make, *given) if len(given) == len(columns) else None


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _values(column: Any, shared: Callable[[str], str] = str) -> list[Any]:
    """The values of an Arrow array; of equal texts one, for most columns have few different ones."""
    if not _is_text(column.type):
        found: list[Any] = column.to_pylist()
        return found
    encoded = column.dictionary_encode()
    texts = encoded.dictionary.to_numpy(zero_copy_only=False).tolist()
    # What is null is at the place behind the texts.
    places = encoded.indices.fill_null(len(texts)).to_numpy().tolist()
    return list(map([*map(shared, texts), None].__getitem__, places))


def _parsed(
    values: list[Any], parse: Callable[[str], Any], location: str, column: str, first: int
) -> Iterator[Any]:
    for i, text in enumerate(values, start=first):
        if not isinstance(text, str):
            yield text
            continue
        try:
            yield parse(text) if text else None
        except ValueError as error:
            raise ConfigurationError(
                f"{location}[{i}].{column} is not valid JSON: {error}", hint=_HINT
            ) from error
