"""What a sink writes, in the short notation of the tests."""

from __future__ import annotations

from collections.abc import Mapping

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    ConnectRecord,
    RecordNode,
    anything,
    leaf,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.columns.sinks import SinkDataset, WrittenColumn, sink_columns
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import family_of

#: A value that is not a structure, and one whose fields no schema names.
PRIMITIVE, OPEN = "-", "..."


def written(
    config: Mapping[str, str],
    key: str = PRIMITIVE,
    value: str = PRIMITIVE,
    *,
    dataset: str = "x://host/db.t",
    columns: str = "",
    headers: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The columns of a dataset, each with the fields that it is made of, or `?` if it is not known.

    Args:
        config: Of the connector.
        key: Paths of the leaves of the record's key; an array is marked by `[]`. Empty: it is null.
        value: As `key`.
        dataset: That is written.
        columns: That a catalog tells.
        headers: The field that each is made of.
    """
    family = family_of(config["connector.class"])
    assert family is not None
    record = ConnectRecord(
        _node("key", key), _node("value", value), {name: leaf(of) for name, of in (headers or {}).items()}
    )
    table = SinkDataset(Config(config), "t", dataset, record, tuple(columns.split()))
    return {
        _name(item): "?" if item.unknown else " ".join(sorted(item.sources))
        for item in sink_columns(family.name, table)
    }


def _name(item: WrittenColumn) -> str:
    """The path, below the label or stream that it is in."""
    return f"{item.place.rpartition('/')[2]}.{item.path}" if item.place else item.path


def _node(side: str, paths: str) -> RecordNode | None:
    if not paths:
        return None
    if paths == PRIMITIVE:
        return leaf(side)
    if paths == OPEN:
        return anything(side)
    node = struct({})
    for path in paths.split():
        names = path.split(".")
        for depth in range(1, len(names)):
            if names[depth - 1].endswith("[]"):
                start = [name.removesuffix("[]") for name in names[:depth]]
                inner = node.at(*start) or struct({})
                node = node.with_field(start, RecordNode(fields=inner.known, array=True))
        plain = [name.removesuffix("[]") for name in names]
        node = node.with_field(plain, leaf(f"{side}.{'.'.join(plain)}"))
    return node
