"""Reading a graph from a folder of Parquet files.

The columns are the fields of `lineage_graph.json`, with `attributes` and `tags` as JSON text. PyArrow is
imported only when a folder is read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_records import discovery_of

_HINT = "Give a folder with nodes.parquet and edges.parquet, `attributes` and `tags` in them as JSON text."
_JSON_COLUMNS = ("attributes", "tags")


def load_folder(folder: Path) -> Discovery:
    """Read `nodes.parquet`, `edges.parquet` and, if it exists, `coverage.parquet`.

    Raises:
        ConfigurationError: A file is missing, not Parquet, or malformed; the message gives the location.
    """
    coverage = folder / "coverage.parquet"
    return discovery_of(
        _read(folder / "nodes.parquet", "nodes"),
        _read(folder / "edges.parquet", "edges"),
        _read(coverage, "coverage") if coverage.exists() else None,
        name=str(folder),
    )


def _read(path: Path, location: str) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.exists():
        raise ConfigurationError(f"{path} does not exist.", hint=_HINT)
    try:
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise ConfigurationError(f"{path} is not a readable Parquet file: {error}", hint=_HINT) from error
    for i, row in enumerate(rows):
        for column in _JSON_COLUMNS:
            value = row.get(column)
            if isinstance(value, str):
                row[column] = _parse(value, f"{path}: {location}[{i}].{column}")
    return rows


def _parse(text: str, location: str) -> object:
    if not text:
        return None
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{location} is not valid JSON: {error}", hint=_HINT) from error
