"""What the files of a graph's folder tell of the graph as a whole.

The files have the fields of `lineage_graph.json` as columns, with `attributes` and `tags` as JSON text. In a
folder that we wrote they have further columns: see `spark.graph_folder`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lineage_bridge_dagster.errors import ConfigurationError

NODES, EDGES, COVERAGE = "nodes.parquet", "edges.parquet", "coverage.parquet"

#: Key of the files' metadata, and the version of what our files hold: raised whenever a column changes, or
#: what one is computed by.
_KEY, _VERSION = b"lineage_bridge", 2


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the metadata of a folder's files tells.

    Every node and every edge is in such a folder once, and all facts are where our readers look for them, as
    after `read_other_forms`.

    Attributes:
        sql: the mode that limits the statements in it, one of `SQL_MODES`; None if they are as written.
        discovered_at: ISO 8601, may be empty.
        id: the same in all files that were written together.
    """

    sql: str | None
    discovered_at: str
    id: str

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """For the schema of a file."""
        known = {"version": _VERSION, "sql": self.sql, "discovered_at": self.discovered_at, "id": self.id}
        return {_KEY: json.dumps(known).encode()}

    @classmethod
    def of_folder(cls, folder: Path) -> Provenance | None:
        """Of a folder; None if someone else wrote it, or a later version, or if it cannot be read.

        Raises:
            ConfigurationError: its files were not written together.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

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
