"""What was written for each kind and region: how many rows, and the first of them."""

from __future__ import annotations

from collections import Counter, defaultdict

from lineage_bridge_dagster.collector.layout import Kind
from lineage_bridge_dagster.collector.rows import Row


class RowsSeen:
    """Counts rows as they are written, masked, and keeps the first of each kind and region.

    Args:
        preview_rows: Rows to keep.
    """

    def __init__(self, preview_rows: int) -> None:
        self._preview_rows = preview_rows
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)

    def __call__(self, kind: Kind, row: Row) -> None:
        at = (kind.name, row[kind.header.index("region")] if "region" in kind.header else "")
        self._counts[at] += 1
        if self._counts[at] <= self._preview_rows:
            self._first[at].append(row)

    def count(self, kind: Kind, region: str = "") -> int:
        return self._counts[kind.name, region]

    def first(self, kind: Kind, region: str = "") -> list[Row]:
        return self._first[kind.name, region]
