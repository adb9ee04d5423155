"""A kind of asset: which assets share one way to materialize them, and what that needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dagster import AssetCheckResult, AssetExecutionContext

from lineage_bridge_dagster.assets.inventory import Asset

#: The pool of what starts a Spark of its own. All instances share it, as they share the machine.
SPARK_POOL = "spark"


@dataclass(frozen=True)
class Checks:
    """Checks that every asset of a kind has.

    Attributes:
        descriptions: by name of the check.
        evaluate: yields the results for the assets with a selected check; the selected checks are in
            `context.selected_asset_check_keys`.
    """

    descriptions: Mapping[str, str]
    evaluate: Callable[[AssetExecutionContext, Sequence[Asset]], Iterator[AssetCheckResult]]


@dataclass(frozen=True)
class AssetKind:
    """Assets that are materialized in one way.

    Attributes:
        name: of the ops, where the component instance has no name of its own.
        resources: keys of the resources that `materialize` and `checks` use.
        materialize: yields a result for each of the given assets that succeeded.
        pool: the pool of Dagster whose limit counts for runs that materialize them.
    """

    name: str
    assets: Sequence[Asset]
    resources: frozenset[str]
    materialize: Callable[[AssetExecutionContext, Sequence[Asset]], Iterator[Any]]
    checks: Checks | None = None
    pool: str | None = None
