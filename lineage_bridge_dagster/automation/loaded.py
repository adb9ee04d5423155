"""The tables of the loaded definitions, as the sensor compares them with Dagster and with Glue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from dagster import AssetCheckResult, AssetKey

from lineage_bridge_dagster.assets.chains import chain_for
from lineage_bridge_dagster.assets.check_outcomes import tableflow_healthy
from lineage_bridge_dagster.assets.checks import TABLEFLOW
from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.assets.tables import wanted_version
from lineage_bridge_dagster.catalogs.drift import Comparison, compare
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.catalog_tables import name_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import render
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.glue_status import conflict_of, is_in_glue
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, IcebergTableNode

if TYPE_CHECKING:
    from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
    from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable


class IcebergPlace(NamedTuple):
    """A table of a REST catalog: the catalog's name, then the levels of the namespace and the table."""

    catalog: str
    name: tuple[str, ...]


@dataclass(frozen=True)
class LoadedTable:
    """A table in the loaded definitions: its assets, and its data version once its lineage is pushed.

    Attributes:
        compare: compares the table, as it was read, with the lineage that was pushed.
        place: in lower case; None outside the home account and region, and outside Glue.
        iceberg: of a table of a REST catalog that takes lineage.
    """

    name: str
    key: AssetKey
    chain_key: AssetKey
    version: Callable[[], str]
    compare: Callable[[GlueTable | IcebergTable], Comparison]
    place: GluePlace | None
    iceberg: IcebergPlace | None = None


@dataclass(frozen=True)
class LoadedState:
    """The state that the definitions were built from; `version` is empty if there was none yet."""

    version: str
    discovery: Discovery | None = None
    #: Sorted by key, without tables in conflict and those that Glue does not have.
    tables: Sequence[LoadedTable] = ()
    #: Reads what a push writes, for the versions of the tables, and returns it as text; raises if it cannot.
    read_settings: Callable[[], str] = lambda: ""
    #: The tables that Glue does not have, or of which that is unknown, so that nothing is pushed to them: the
    #: name of each, and what evaluates its check.
    absent: Sequence[tuple[str, Callable[[], AssetCheckResult]]] = ()


class WantedVersions:
    """The data versions of tables whose lineage is pushed with the settings in force.

    Each is computed once per settings: the chains of ten thousand tables take seconds.
    """

    def __init__(self, inventory: Inventory, push: Callable[[], PushSettings]) -> None:
        self._inventory = inventory
        self._push = push
        self._settings: PushSettings | None = None
        self._versions: dict[str, str] = {}

    def read_settings(self) -> str:
        """Read the settings, which count from then on, and return them as text.

        Raises:
            ConfigurationError: a setting is malformed or cannot be read.
        """
        return self._read().model_dump_json()

    def of(self, table_id: str) -> str:
        settings = self._settings or self._read()
        if table_id not in self._versions:
            self._versions[table_id] = wanted_version(chain_for(self._inventory, table_id), settings)
        return self._versions[table_id]

    def compare(self, table_id: str, table: GlueTable | IcebergTable) -> Comparison:
        """Compare the table, as it was read, with its lineage."""
        from lineage_bridge_dagster.catalogs.glue.glue_catalog import GlueCatalog
        from lineage_bridge_dagster.catalogs.rest.rest_catalogs import RestCatalogs

        settings = self._settings or self._read()
        chain = chain_for(self._inventory, table_id)
        document = render(chain, settings) if chain.hops else None
        catalog = GlueCatalog if isinstance(chain.table, GlueTableNode) else RestCatalogs
        return compare(catalog, table, document, settings, complete=chain.complete)

    def _read(self) -> PushSettings:
        settings = self._push()
        if settings != self._settings:
            self._settings, self._versions = settings, {}
        return settings


def loaded_tables(version: str, inventory: Inventory | None, push: Callable[[], PushSettings]) -> LoadedState:
    """The state and the tables of the definitions."""
    if inventory is None:
        return LoadedState(version)
    versions = WantedVersions(inventory, push)
    tables = [
        LoadedTable(
            name=_name(asset),
            key=asset.key,
            chain_key=inventory.chain_key_of[asset.node.node_id],
            version=partial(versions.of, asset.node.node_id),
            compare=partial(versions.compare, asset.node.node_id),
            place=asset.node.home_place if isinstance(asset.node, GlueTableNode) else None,
            iceberg=_iceberg_place(asset.node),
        )
        for asset in inventory.tables
        # A table that several topics claim is never pushed, nor is one that is not there.
        if not conflict_of(asset.node) and is_in_glue(asset.node)
    ]
    absent = [
        (_name(asset), partial(_absence, asset, inventory))
        for asset in inventory.tables
        if not is_in_glue(asset.node)
    ]
    return LoadedState(version, inventory.discovery, tables, versions.read_settings, absent)


def _iceberg_place(node: Node) -> IcebergPlace | None:
    table = IcebergTableNode.of(node)
    # Where nothing can be written, nothing can be lost.
    if not isinstance(node, IcebergTableNode) or table.not_writable:
        return None
    return IcebergPlace(table.catalog, (*table.namespace, table.table_name))


def _absence(asset: Asset, inventory: Inventory) -> AssetCheckResult:
    found = tableflow_healthy(asset.node, inventory.view)
    return found.result(asset.key, TABLEFLOW, inventory.discovery.discovered_at)


def _name(asset: Asset) -> str:
    return name_of(asset.node).dotted
