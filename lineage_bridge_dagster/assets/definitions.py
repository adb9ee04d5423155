"""All asset definitions of a component instance."""

from __future__ import annotations

import logging
from datetime import timedelta

from dagster import AssetsDefinition, AssetSpec, FreshnessPolicy

from lineage_bridge_dagster.assets.bundles import Defined, Execute, bundle_definitions
from lineage_bridge_dagster.assets.chains import chain_assets
from lineage_bridge_dagster.assets.checks import table_checks
from lineage_bridge_dagster.assets.discovery import discovery_asset
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.assets.settings import Limits
from lineage_bridge_dagster.assets.tables import table_assets
from lineage_bridge_dagster.assets.topics import topic_assets
from lineage_bridge_dagster.dagster_internals.definitions import message_limit
from lineage_bridge_dagster.lineage.nodes import TopicNode

_log = logging.getLogger(__name__)

#: What an asset takes of the one message with all definitions: 302 MB of 51,000 assets, with twelve columns.
_BYTES_OF_ASSET = 6_000


def asset_definitions(
    instance: ComponentInstance,
    execute: Execute,
    *,
    checks: bool,
    limits: Limits,
    discovery_policy: FreshnessPolicy | None,
    carried_limit: timedelta | None,
    last: dict[str, Defined],
) -> list[AssetsDefinition | AssetSpec]:
    """Define the external assets, the materializable ones with their checks, and the discovery.

    Args:
        execute: materializes assets of one kind; the component's hook.
        checks: whether tables and the discovery have checks; without them the discovery is not an asset.
        limits: how long a record may wait for its table.
        discovery_policy: how old the last discovery may be.
        carried_limit: how old lineage may be that a discovery carries over.
        last: see `bundle_definitions`.
    """
    names, inventory = instance.names, instance.inventory
    _warn_of_size(inventory)
    kinds = [
        topic_assets(instance),
        chain_assets(instance),
        *table_assets(
            instance,
            table_checks(instance, limits) if checks else None,
            table_checks(instance, limits, iceberg=True) if checks else None,
        ),
    ]
    return [
        *(
            # Assets may load a topic of another cluster, too.
            each.spec.with_io_manager_key(names.io_manager) if isinstance(each.node, TopicNode) else each.spec
            for each in inventory.external
        ),
        *(definition for kind in kinds for definition in bundle_definitions(kind, names, execute, last)),
        *(discovery_asset(names, inventory, discovery_policy, carried_limit) if checks else ()),
    ]


def _warn_of_size(inventory: Inventory) -> None:
    """Say what to set where the webserver and the daemon may not get the definitions of so many assets."""
    count = len(inventory.materializable) + len(inventory.external)
    limit = message_limit()
    if count * _BYTES_OF_ASSET > limit:
        _log.warning(
            "The definitions of %s assets may be larger than the %s MB that Dagster's processes exchange at "
            "most. If the code location fails with RESOURCE_EXHAUSTED, set DAGSTER_GRPC_MAX_SEND_BYTES and "
            "DAGSTER_GRPC_MAX_RX_BYTES to 1000000000 for the code server, the webserver and the daemon.",
            f"{count:,}",
            f"{limit // 1_000_000:,}",
        )
