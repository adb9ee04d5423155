"""Upstream chains: materializing one computes it, and stores it in the lineage tables with Spark."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from dagster import AssetExecutionContext, DataVersion, MaterializeResult, MetadataValue

from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.assets.kinds import SPARK_POOL, AssetKind
from lineage_bridge_dagster.assets.run_cache import selected_in_run
from lineage_bridge_dagster.lineage.chains import Chain, chain_of, to_json
from lineage_bridge_dagster.lineage.hops import hop_kind, shown_sql, writer_note
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.spark.io.metadata import WriteMetadata
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.metadata import LineageMetadata, StandardMetadata, table
from lineage_bridge_dagster.specs.pages.drawing import drawing, image
from lineage_bridge_dagster.text import plural


def chain_assets(instance: ComponentInstance) -> AssetKind:
    """The upstream chains of an instance's tables."""
    return AssetKind(
        "upstream_chains",
        instance.inventory.chains,
        frozenset({instance.names.spark}),
        partial(materialize_chains, instance),
        pool=SPARK_POOL if instance.own_spark else None,
    )


def chain_digest(chain: Chain, sql: str = "redacted") -> str:
    """Return a digest that changes with any hop, but not with the time or with coverage."""
    text = json.dumps(to_json(chain, sql), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def chain_for(inventory: Inventory, table_id: str) -> Chain:
    """Return the chain of one table of this discovery."""
    view = inventory.view
    return chain_of(view.graph, table_id, index=view.upstream, gaps=view.gaps)


def materialize_chains(
    instance: ComponentInstance, context: AssetExecutionContext, assets: Sequence[Asset]
) -> Iterator[MaterializeResult[Any]]:
    """Report the chains of these assets; the first step of a run stores the chains of all its tables."""
    with readable_failures():
        own, instance = instance.inventory, instance.current(context)
        inventory = instance.inventory
        sql = instance.push_settings().sql
        stored = instance.cache.get(
            context.run.run_id,
            "chains",
            lambda: _write_chains(instance, context, selected_in_run(context, inventory.chains), sql),
        )
        hops = incomplete = 0
        for asset in assets:
            table = asset.node.node_id
            shown = inventory if table in inventory.chain_key_of else own
            chain = chain_for(shown, table)
            hops += len(chain.hops)
            incomplete += not chain.complete
            yield MaterializeResult(
                asset_key=asset.key,
                data_version=DataVersion(chain_digest(chain, sql)),
                metadata={
                    **StandardMetadata(row_count=len(chain.hops)),
                    **chain_metadata(chain, sql, shown.view),
                    **stored,
                },
            )
        context.log.info(
            "This step's %s: %s%s",
            plural(len(assets), "chain"),
            plural(hops, "hop"),
            f", {incomplete} not fully known because an API failed" if incomplete else "",
        )


def _write_chains(
    instance: ComponentInstance, context: AssetExecutionContext, table_ids: Sequence[str], sql: str
) -> dict[str, Any]:
    """Store the chains of some tables in one commit, and describe it as metadata of each.

    Spark starts here, when a run has chains to store.
    """
    from lineage_bridge_dagster.spark.chains.write import write_lineage

    spark = instance.spark(context)
    catalogs = spark.all_catalogs
    catalog = catalogs.writable(catalogs.lineage.name).name
    context.log.info("Computing the chains of %s", plural(len(table_ids), "table"))
    started = time.monotonic()
    session = spark.spark_session
    context.log.info("Spark was ready after %.1f s", time.monotonic() - started)
    written = write_lineage(
        session,
        instance.inventory.discovery,
        table_ids=table_ids,
        catalog=catalog,
        namespace=instance.namespace,
        sql=sql,
        progress=context.log.info,
    )
    seconds = time.monotonic() - started
    if written.changed:
        context.log.info(
            "Chains: %s, %d changed, in %.0f s",
            plural(written.tables, "table"),
            written.changed,
            seconds,
        )
    else:
        context.log.info(
            "Chains: %s, none of them changed, in %.0f s", plural(written.tables, "table"), seconds
        )
    return {
        **WriteMetadata(
            lineage_table=f"{catalog}.{instance.namespace}.upstream_chains",
            snapshot_id=str(written.snapshot_id or ""),
        )
    }


def chain_metadata(chain: Chain, sql: str, view: GraphView | None = None) -> dict[str, Any]:
    """Return a chain as tables, with its gaps; with a view of its discovery, also as a drawing.

    Args:
        sql: how SQL is shown.
        view: of the chain's discovery.
    """
    picture = image(drawing(view, chain.table), f"Upstream of {chain.table.label}") if view else None
    rows: list[dict[str, str | int | float | bool | None]] = [
        {"hop": hop.distance, "kind": hop_kind(hop.node.node_type), "name": hop.node.qualified_name}
        for hop in chain.hops
    ]
    incomplete = ", ".join(map(str, chain.incomplete_scopes))
    stale = [since for hop in chain.hops if (since := hop.node.stale_since)]
    return {
        **LineageMetadata(
            drawing=MetadataValue.md(picture) if picture else None,
            hops=len(chain.hops),
            chain=MetadataValue.md(chain_markdown(chain, sql)),
            hop_table=table(rows),
            incomplete=None if chain.complete else f"Not fully read, last known lineage kept: {incomplete}",
            stale_since=min(stale, default=None),
        )
    }


def chain_markdown(chain: Chain, sql: str) -> str:
    """Return a table of the hops below a plain first line, which is what lists in the UI show."""
    farthest = max((hop.distance for hop in chain.hops), default=0)
    sources = [hop for hop in chain.hops if hop.distance == farthest][:3]
    names = ", ".join(hop.node.label for hop in sources)
    first = f"{len(chain.hops)} hops up, to {names}" if chain.hops else "No upstream is known."
    rows = [
        [
            hop.distance,
            hop_kind(hop.node.node_type).replace("_", " "),
            hop.node.qualified_name,
            _note(hop.node, sql),
        ]
        for hop in chain.hops
    ]
    return f"{first}\n\n{markdown_table(['hop', 'kind', 'name', 'note'], rows)}" if rows else first


def _note(node: Node, sql: str) -> str:
    return node.connector_class or shown_sql(node, sql) or writer_note(node)
