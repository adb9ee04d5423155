"""Reading a graph from a folder of Parquet files.

The columns are the fields of `lineage_graph.json`, with `attributes` and `tags` as JSON text. PyArrow is
imported only when a folder is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.lineage.graph_records import discovery_of

_HINT = "Give a folder with nodes.parquet and edges.parquet, `attributes` and `tags` in them as JSON text."
_JSON_COLUMNS = ("attributes", "tags")

#: Rows of a batch, and texts whose values are remembered: most edges have the attributes of many others.
_BATCH_ROWS, _JSON_TEXTS = 65_536, 1_024


def load_folder(folder: Path) -> Discovery:
    """Read `nodes.parquet`, `edges.parquet` and, if it exists, `coverage.parquet`.

    Raises:
        ConfigurationError: A file is missing, not Parquet, or malformed; the message gives the location.
    """
    nodes, edges, coverage = (folder / f"{name}.parquet" for name in ("nodes", "edges", "coverage"))
    for path in (nodes, edges):
        if not path.exists():
            raise ConfigurationError(f"{path} does not exist.", hint=_HINT)
    # Nothing that is read here becomes garbage before the end, so looking for some would only cost time.
    with no_garbage_collection():
        return discovery_of(
            _rows(nodes, "nodes"),
            _rows(edges, "edges"),
            _rows(coverage, "coverage") if coverage.exists() else None,
            name=str(folder),
        )


def _rows(path: Path, location: str) -> Iterator[dict[str, Any]]:
    """The rows of a file, a batch at a time. Equal JSON texts that follow each other become one value."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parsed = lru_cache(maxsize=_JSON_TEXTS)(json.loads)
    first = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                names = batch.schema.names
                columns = [
                    _parsed(_values(column), parsed, f"{path}: {location}", name, first)
                    if name in _JSON_COLUMNS
                    else _values(column)
                    for name, column in zip(names, batch.columns, strict=True)
                ]
                for row in zip(*columns, strict=True):
                    yield dict(zip(names, row, strict=True))
                first += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise ConfigurationError(f"{path} is not a readable Parquet file: {error}", hint=_HINT) from error


def _values(column: Any) -> list[Any]:
    """The values of an Arrow array; of texts in a fraction of the time that `to_pylist` takes."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return values
    found: list[Any] = column.to_pylist()
    return found


def _parsed(
    values: list[Any], parse: Callable[[str], Any], location: str, column: str, first: int
) -> Iterator[Any]:
    for i, text in enumerate(values, start=first):
        if not isinstance(text, str):
            yield text
            continue
        try:
            yield parse(text) if text else None
        except (json.JSONDecodeError, RecursionError) as error:
            raise ConfigurationError(
                f"{location}[{i}].{column} is not valid JSON: {error}", hint=_HINT
            ) from error
