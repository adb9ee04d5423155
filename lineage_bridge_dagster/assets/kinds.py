"""What materializing does, by kind of asset, and what it needs for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dagster import AssetExecutionContext

from lineage_bridge_dagster.assets.chains import execute_chains
from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.assets.resources import Outside
from lineage_bridge_dagster.assets.tables import execute_tables
from lineage_bridge_dagster.assets.topics import execute_topics


class Kind(StrEnum):
    """The kinds of asset that can be materialized."""

    TOPICS = "topics"
    CHAINS = "chains"
    TABLES = "tables"


@dataclass(frozen=True)
class Work:
    """Assets of one kind that one op was asked for, with the discovery they are of."""

    kind: Kind
    assets: Sequence[Asset]
    inventory: Inventory
    outside: Outside

    def run(self, context: AssetExecutionContext) -> Iterator[Any]:
        """Do it, and yield a result for each asset that was done."""
        match self.kind:
            case Kind.TOPICS:
                yield from execute_topics(context, self.assets, self.inventory, self.outside.read_topics)
            case Kind.CHAINS:
                write = self.outside.chain_writer(context)
                yield from execute_chains(context, self.assets, self.inventory, write)
            case Kind.TABLES:
                push, commits = self.outside.push(context), self.outside.commit_reader(context)
                yield from execute_tables(context, self.assets, self.inventory, push, commits)


Execute = Callable[[AssetExecutionContext, Work], Iterator[Any]]
