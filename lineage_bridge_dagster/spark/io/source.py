"""What an upstream asset stands for, as its metadata tells: a topic, a table or a chain.

The keys of the metadata, which the translator sets:

| key | on | value |
|---|---|---|
| `lineage_bridge/node_id` | all | the node's id; on a chain, the table's |
| `lineage_bridge/node_type` | all | `kafka_topic`, `catalog_table` or `upstream_chain` |
| `dagster/table_name` | tables | `database.table`; the parts below win |
| `lineage_bridge/database`, `lineage_bridge/table` | tables | the parts, for names that hold dots |
| `lineage_bridge/topic`, `lineage_bridge/cluster_id`, `lineage_bridge/environment_id` | topics | |
| `lineage_bridge/bootstrap` | topics | `host:port` of the cluster, with or without `SASL_SSL://` |
| `lineage_bridge/schema_registry_url` | topics | base URL |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from lineage_bridge_dagster.errors import LineageBridgeError

Kind = Literal["topic", "table", "chain"]

_KINDS: Mapping[str, Kind] = {
    "kafka_topic": "topic",
    "catalog_table": "table",
    "upstream_chain": "chain",
}


@dataclass(frozen=True, slots=True)
class AssetSource:
    """Where a DataFrame for an asset comes from."""

    kind: Kind
    node_id: str = ""
    database: str = ""
    table: str = ""
    topic: str = ""
    cluster_id: str = ""
    environment_id: str = ""
    bootstrap: str = ""
    schema_registry_url: str = ""

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any], key: tuple[str, ...] = ()) -> Self:
        """Read an asset's metadata, Dagster's own value objects or plain texts.

        An asset without a node type is a table that some other asset wrote: `dagster/table_name` names it,
        else the last two parts of its key.

        Raises:
            LineageBridgeError: the asset is none that has rows, or does not say which.
        """
        text = {name: _text(value) for name, value in metadata.items()}
        node_type = text.get("lineage_bridge/node_type", "")
        kind = _KINDS.get(node_type) if node_type else "table"
        shown = "/".join(key) or text.get("lineage_bridge/node_id", "the asset")
        if kind is None:
            raise LineageBridgeError(
                f"{shown} is a {node_type}, which has no rows to load.",
                hint="Depend on a topic, a Glue table or an upstream chain.",
            )
        database, table = table_parts(text, key)
        source = cls(
            kind=kind,
            node_id=text.get("lineage_bridge/node_id", ""),
            database=database,
            table=table,
            topic=text.get("lineage_bridge/topic", ""),
            cluster_id=text.get("lineage_bridge/cluster_id", ""),
            environment_id=text.get("lineage_bridge/environment_id", ""),
            bootstrap=text.get("lineage_bridge/bootstrap", ""),
            schema_registry_url=text.get("lineage_bridge/schema_registry_url", ""),
        )
        lacking = {
            "topic": not (source.topic and source.bootstrap),
            "table": not (source.database and source.table),
            "chain": not source.node_id,
        }
        if lacking[kind]:
            raise LineageBridgeError(
                f"The metadata of {shown} does not say which {kind} it is.",
                hint="Materialize from a fresh discovery, so that its definition is built again.",
            )
        return source


def table_parts(metadata: Mapping[str, str], key: tuple[str, ...] = ()) -> tuple[str, str]:
    """Database and table: our own keys, else `dagster/table_name` cut at its first dot, else the key's end.

    Databases have no dots in their names, tables that come from topics do.
    """
    database, table = metadata.get("lineage_bridge/database"), metadata.get("lineage_bridge/table")
    if database and table:
        return database, table
    named = metadata.get("dagster/table_name", "")
    if "." in named:
        database, _, table = named.partition(".")
        return database, table
    if named and len(key) > 1:
        return key[-2], named
    return (key[-2], key[-1]) if len(key) > 1 else ("", "")


def _text(value: Any) -> str:
    inner = getattr(value, "value", value)
    return "" if inner is None else str(inner)
