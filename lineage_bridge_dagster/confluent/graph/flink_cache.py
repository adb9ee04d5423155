"""What a discovery keeps for the next one, so that an unchanged Flink statement is not parsed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.lineage.carry import STALE_ATTRIBUTES
from lineage_bridge_dagster.lineage.columns import COLUMN_LINEAGE
from lineage_bridge_dagster.sql.flink.parse_cache import VERSION, ParseCache

if TYPE_CHECKING:
    from lineage_bridge_dagster.lineage.discovery import Discovery
    from lineage_bridge_dagster.sql.statement import TextLineage


class FlinkCache:
    """Table lineage by SQL text, and column lineage by job. Reads the last discovery, collects for the next.

    Its JSON is `{"version", "entries": {text digest: statements}, "columns": {node id: [digest, omitted]}}`:
    digests and names, never SQL text. The columns themselves are on the jobs' nodes.

    Args:
        last: The last discovery. A cache of another parser version, or a malformed one, counts as empty.
    """

    #: Key in `Discovery.caches`.
    NAME = "flink_sql"

    def __init__(self, last: Discovery | None = None) -> None:
        saved = last.caches.get(self.NAME) if last is not None else None
        saved = saved if isinstance(saved, Mapping) and saved.get("version") == VERSION else {}
        self._texts = ParseCache(saved)
        self._last_nodes = last.graph.nodes if last is not None else {}
        columns = saved.get("columns")
        self._last_columns: Mapping[str, Any] = columns if isinstance(columns, Mapping) else {}
        self._columns: dict[str, tuple[str, int]] = {}

    def lineage(self, text: str) -> TextLineage | None:
        """What a text reads and writes, if it was parsed before."""
        return self._texts.get(text)

    def put_lineage(self, text: str, lineage: TextLineage) -> None:
        self._texts.put(text, lineage)

    def columns(self, node_id: str, digest: str) -> tuple[Any, int] | None:
        """A job's column lineage attribute and its number of omitted columns, if the digest is unchanged.

        Args:
            node_id: The job.
            digest: A digest of everything that the job's columns depend on.
        """
        node = self._last_nodes.get(node_id)
        match self._last_columns.get(node_id):
            case [str(known), int(omitted)] if known == digest and node is not None:
                # Columns carried over because the registry failed do not belong to this digest.
                if COLUMN_LINEAGE not in node.texts(STALE_ATTRIBUTES):
                    return node.attributes.get(COLUMN_LINEAGE), omitted
        return None

    def put_columns(self, node_id: str, digest: str, omitted: int) -> None:
        self._columns[node_id] = (digest, omitted)

    def to_json(self) -> dict[str, Any]:
        """The texts and columns that this discovery used, for `Discovery.caches`."""
        return {**self._texts.to_json(), "columns": {k: list(v) for k, v in self._columns.items()}}
