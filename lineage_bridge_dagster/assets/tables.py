"""Glue tables: materializing one pushes its upstream lineage into Glue."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dagster import AssetExecutionContext, DataVersion, Failure, MaterializeResult, MetadataValue

from lineage_bridge_dagster.assets.chains import chain_digest, chain_for, chain_metadata
from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.chains import Chain
from lineage_bridge_dagster.lineage.documents import PushOptions, render
from lineage_bridge_dagster.metadata import cell, markdown_table
from lineage_bridge_dagster.settings import PushSettings

if TYPE_CHECKING:
    from lineage_bridge_dagster.glue.results import TableResult

#: Pushes one table's chain; safe to call from several threads.
PushTable = Callable[[Any, Chain], "TableResult"]

#: Outcomes after which Glue holds what we want it to hold.
GOOD = frozenset({"updated", "unchanged"})
#: Nothing was written, and rightly so; the asset is not materialized, and the run goes on.
WAITING = frozenset({"held"})


@dataclass(frozen=True)
class Push:
    """What a push does with its tables: the settings in force and the call for one table."""

    settings: PushSettings
    push_table: PushTable


def wanted_version(chain: Chain, settings: PushSettings) -> str:
    """The data version of a table that holds this chain: changes with the chain and with what is written."""
    text = f"{chain_digest(chain, settings.sql)}:{settings.set_parameters}:{settings.set_description}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def execute_tables(
    context: AssetExecutionContext, assets: Sequence[Asset], inventory: Inventory, push: Push
) -> Iterator[MaterializeResult[Any]]:
    """Push the tables side by side; report each as soon as it is done, and fail at the end if any failed.

    Raises:
        Failure: some tables failed; it names them, and the good ones are materialized all the same.
    """
    outcomes: Counter[str] = Counter()
    bad: list[tuple[str, str, str]] = []
    with readable_failures():
        for asset, chain, outcome in _pushed(assets, inventory, push):
            name = asset.node.qualified_name
            if isinstance(outcome, Exception):
                outcomes["failed"] += 1
                bad.append((name, "failed", str(outcome)))
                continue
            status = str(outcome.status)
            outcomes[status] += 1
            if status in GOOD:
                yield MaterializeResult(
                    asset_key=asset.key,
                    data_version=DataVersion(wanted_version(chain, push.settings)),
                    metadata=push_metadata(outcome, chain, push.settings),
                )
            elif status in WAITING:
                context.log.warning("%s is held back: %s", name, outcome.reason)
            else:
                bad.append((name, status, " ".join(filter(None, (outcome.reason, outcome.hint)))))
    counts = ", ".join(f"{count} {status}" for status, count in sorted(outcomes.items()))
    context.log.info("Pushed %d tables: %s", len(assets), counts or "nothing to do")
    if bad:
        raise push_failure(bad, counts)


def _pushed(
    assets: Sequence[Asset], inventory: Inventory, push: Push
) -> Iterator[tuple[Asset, Chain, TableResult | Exception]]:
    """Each asset with its outcome, in the order they end."""

    def one(asset: Asset) -> tuple[Chain, TableResult]:
        chain = chain_for(inventory, asset.node.node_id)
        return chain, push.push_table(asset.node, chain)

    with ThreadPoolExecutor(
        max_workers=min(push.settings.max_concurrency, max(1, len(assets))), thread_name_prefix="push"
    ) as pool:
        running = {pool.submit(one, asset): asset for asset in assets}
        for future in as_completed(running):
            asset = running[future]
            try:
                chain, result = future.result()
            except LineageBridgeError as error:
                yield asset, chain_for(inventory, asset.node.node_id), error
            else:
                yield asset, chain, result


def push_failure(bad: Sequence[tuple[str, str, str]], counts: str) -> Failure:
    """One failure for all tables that were not pushed: by name in its text, with reasons in its metadata."""
    names = ", ".join(f"{name} ({status})" for name, status, _ in sorted(bad)[:20])
    more = f" and {len(bad) - 20} more" if len(bad) > 20 else ""
    first = sorted(bad)[0]
    return Failure(
        description=f"{len(bad)} tables were not pushed: {names}{more}. First reason: {first[2]}",
        metadata={
            "tables": MetadataValue.md(markdown_table(["table", "outcome", "reason"], sorted(bad))),
            "counts": counts,
        },
        allow_retries=False,
    )


def push_metadata(result: TableResult, chain: Chain, settings: PushSettings) -> dict[str, Any]:
    """What a push did to one table: outcome, versions, parameters before and after, the chain twice."""
    metadata: dict[str, Any] = {
        "lineage_bridge/outcome": str(result.status),
        "lineage_bridge/diff": MetadataValue.md(parameter_diff(result.before, result.after)),
        "lineage_bridge/description_tree": MetadataValue.md(_tree(chain, settings)),
        **chain_metadata(chain),
    }
    if result.reason:
        metadata["lineage_bridge/reason"] = result.reason
    for name, version in (("before", result.version_before), ("after", result.version_after)):
        if version is not None:
            metadata[f"lineage_bridge/table_version_{name}"] = version
    return metadata


def parameter_diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """The parameters that changed, one row each; a plain first line says how many did."""
    added = sorted(after.keys() - before.keys())
    removed = sorted(before.keys() - after.keys())
    changed = sorted(key for key in before.keys() & after.keys() if before[key] != after[key])
    if not (added or removed or changed):
        return f"No parameter changed; {len(after)} stand."
    kept = len(after) - len(added) - len(changed)
    rows = [
        *(("+", key, "", cell(after[key])) for key in added),
        *(("~", key, cell(before[key]), cell(after[key])) for key in changed),
        *(("-", key, cell(before[key]), "") for key in removed),
    ]
    return (
        f"{len(added)} parameters added, {len(changed)} changed, {len(removed)} removed, {kept} untouched\n\n"
        + "\n".join(["|  | parameter | before | after |", "| --- | --- | --- | --- |"])
        + "".join(f"\n| {sign} | {cell(key)} | {old} | {new} |" for sign, key, old, new in rows)
    )


def _tree(chain: Chain, settings: PushSettings) -> str:
    """The description's block as it is written, whole."""
    options = PushOptions(
        set_parameters=settings.set_parameters, set_description=settings.set_description, sql=settings.sql
    )
    # Two kilobytes is what Glue takes; what the UI shows may be longer.
    block = render(chain, options).block(16_384, "")
    lines = [line for line in (block or "").splitlines() if not line.startswith("Last synced:")]
    return "Upstream lineage as it stands in the description\n\n```\n" + "\n".join(lines) + "\n```"
