"""The topic, table or chain behind an upstream asset, from its metadata.

The keys of the metadata, which the translator sets:

| key | on | value |
|---|---|---|
| `lineage_bridge/node_id` | all | the node's id; on a chain, the table's |
| `lineage_bridge/node_type` | all | `kafka_topic`, `catalog_table` or `upstream_chain` |
| `lineage_bridge/not_discovered` | placeholders | why there are no rows to read |
| `lineage_bridge/catalog` | tables | the name of its catalog in the settings |
| `dagster/table_name` | tables | `database.table`; the parts below take precedence |
| `lineage_bridge/database`, `lineage_bridge/table` | tables | the parts, for names with dots |
| `lineage_bridge/topic`, `lineage_bridge/cluster_id`, `lineage_bridge/environment_id` | topics | |
| `lineage_bridge/bootstrap` | topics | `host:port` of the cluster, with or without `SASL_SSL://` |
| `lineage_bridge/schema_registry_url` | topics | base URL |
| `lineage_bridge/schema_registry_id` | topics | the registry's id, which its key may be named after |
| `lineage_bridge/schema_subject` | topics | subject of the values' schema; by default `{topic}-value` |
| `lineage_bridge/schema_subjects` | topics | instead of it, where there is none or more than one: a list |
| `lineage_bridge/key_schema_subject` | topics | subject of the keys' schema |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.specs.metadata import LineageMetadata, StandardMetadata

Kind = Literal["topic", "table", "chain"]

_TEXTS = (
    "node_id",
    "catalog",
    "topic",
    "cluster_id",
    "environment_id",
    "bootstrap",
    "schema_registry_url",
    "schema_registry_id",
)
_SUBJECTS = ("schema_subject", "schema_subjects", "key_schema_subject")

_KINDS: Mapping[str, Kind] = {
    "kafka_topic": "topic",
    "catalog_table": "table",
    "upstream_chain": "chain",
}


@dataclass(frozen=True, slots=True)
class AssetSource:
    """Where the rows of an asset are read from."""

    kind: Kind
    node_id: str = ""
    #: Empty: the one that `catalog_in` tells.
    catalog: str = ""
    #: Whether discovery found the asset.
    discovered: bool = False
    database: str = ""
    table: str = ""
    topic: str = ""
    cluster_id: str = ""
    environment_id: str = ""
    bootstrap: str = ""
    schema_registry_url: str = ""
    schema_registry_id: str = ""
    #: Subjects of the values' schemas.
    value_subjects: tuple[str, ...] = ()
    #: Subject of the keys' schema.
    key_subject: str = ""
    #: Whether the metadata tells the subjects, if only that there are none.
    subjects_known: bool = False

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any], key: tuple[str, ...] = ()) -> Self:
        """Read an asset's metadata: Dagster's value objects or plain values.

        An asset without a node type is a table that another asset writes: `dagster/table_name` names it, else
        the last two parts of its key.

        Raises:
            LineageBridgeError: the asset has no rows, or its metadata does not identify them.
        """
        if reason := _text(metadata, LineageMetadata.key("not_discovered")):
            raise LineageBridgeError(
                f"{'/'.join(key)} is only a placeholder. {reason}.",
                hint=_text(metadata, LineageMetadata.key("next_step")) + ".",
            )
        texts: dict[str, Any] = {name: _text(metadata, LineageMetadata.key(name)) for name in _TEXTS}
        node_type = _text(metadata, LineageMetadata.key("node_type"))
        kind = _KINDS.get(node_type) if node_type else "table"
        asset = "/".join(key) or texts["node_id"] or "the asset"
        if kind is None:
            raise LineageBridgeError(
                f"{asset} is a {node_type}, which has no rows to read.",
                hint="Depend on a topic, a Glue table or an upstream chain.",
            )
        database, table = database_and_table(metadata, key)
        source = cls(
            kind=kind,
            discovered=bool(node_type),
            database=database,
            table=table,
            **texts,
            **_subjects(metadata),
        )
        identified = {
            "topic": source.topic and source.bootstrap,
            "table": source.database and source.table,
            "chain": source.node_id,
        }
        if not identified[kind]:
            raise LineageBridgeError(
                f"The metadata of {asset} does not identify its {kind}.",
                hint="Run a new discovery, which builds its definition again.",
            )
        return source

    def catalog_in(self, catalogs: Catalogs) -> CatalogSettings:
        """The catalog that has the asset.

        It is the one that its metadata names; else that of the lineage tables for a chain, Glue for a table
        that discovery found there, and the default one for any other table.

        Raises:
            ConfigurationError: its metadata names a catalog that does not exist.
        """
        if self.catalog:
            return catalogs[self.catalog]
        if self.kind == "chain":
            return catalogs.lineage
        return catalogs.glue if self.discovered else catalogs.default


def database_and_table(metadata: Mapping[str, Any], key: tuple[str, ...] = ()) -> tuple[str, str]:
    """Database and table: our own keys, else `dagster/table_name` split at its first dot, else the key's end.

    Databases have no dots in their names, tables of topics do.
    """
    database = _text(metadata, LineageMetadata.key("database"))
    table = _text(metadata, LineageMetadata.key("table"))
    if database and table:
        return database, table
    name = _text(metadata, StandardMetadata.key("table_name"))
    if "." in name:
        database, _, table = name.partition(".")
        return database, table
    return (key[-2], name or key[-1]) if len(key) > 1 else ("", "")


def _subjects(metadata: Mapping[str, Any]) -> dict[str, Any]:
    one, several, key = map(LineageMetadata.key, _SUBJECTS)
    listed = plain(metadata.get(several)) or ()
    value = _text(metadata, one)
    return {
        "value_subjects": (value,) if value else ((listed,) if isinstance(listed, str) else tuple(listed)),
        "key_subject": _text(metadata, key),
        "subjects_known": any(metadata.get(name) is not None for name in (one, several, key)),
    }


def _text(metadata: Mapping[str, Any], key: str) -> str:
    inner = plain(metadata.get(key))
    return "" if inner is None else str(inner)


def plain(value: Any) -> Any:
    """The value within one of Dagster's metadata values; any other value as it is."""
    return getattr(value, "value", value)
