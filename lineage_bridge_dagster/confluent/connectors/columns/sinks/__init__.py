"""The columns that sinks write: one module for each kind of store, whose readers are found by family.

To add a family, declare its reader with `writes` in the module of its store. Every module here is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    READERS,
    SinkDataset,
    WrittenColumn,
    unknown,
)

__all__ = ["READERS", "SinkDataset", "WrittenColumn", "sink_columns"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


def sink_columns(family: str, table: SinkDataset) -> list[WrittenColumn]:
    """The columns that a sink of a family writes to a dataset, each once."""
    reader = READERS.get(family)
    if reader is None:
        found: Iterable[WrittenColumn] = unknown(
            f"how connectors of this kind ({family}) write fields is not known"
        )
    else:
        found = reader(table)
    columns: dict[tuple[str, str], WrittenColumn] = {}
    for item in found:
        # Several statements may write a column.
        before = columns.get((item.place, item.path), item)
        reason = before.unknown or item.unknown
        sources = frozenset[str]() if reason else before.sources | item.sources
        columns[item.place, item.path] = replace(item, sources=sources, unknown=reason)
    return [*columns.values()]
