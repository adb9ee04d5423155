"""What the IO manager wants of an engine: one input to read, or one output to write."""

from __future__ import annotations

from dataclasses import dataclass

from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.spark.commits import CommitMarker
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.increments import Downstream
from lineage_bridge_dagster.spark.io.options import ReadOptions, WriteOptions
from lineage_bridge_dagster.spark.io.slices import Slice
from lineage_bridge_dagster.spark.io.source import AssetSource


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """How to read one input.

    Attributes:
        namespace: the namespace of the lineage tables, which include the chains.
        options: which part of the source to read.
        slice_: the partitions to read of a partitioned table.
        downstream: the table that consumes an incremental input; its `consumed` is set.
        label: the asset, for messages and as the name of its position in the downstream table.
    """

    source: AssetSource
    catalog: str
    catalogs: Catalogs
    namespace: str
    options: ReadOptions
    label: str
    slice_: Slice | None = None
    downstream: Downstream | None = None


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """How to write one output.

    Attributes:
        slice_: the partitions that the rows belong to; a row outside them fails the write.
        partitions: how many partitions of the asset these are.
    """

    table: TableName
    catalogs: Catalogs
    options: WriteOptions
    marker: CommitMarker
    slice_: Slice | None = None
    partitions: int = 0

    @property
    def creates_namespace(self) -> bool:
        """Whether a missing namespace is created. In another catalog it may be a misspelled one."""
        return self.table.catalog == self.catalogs.default.name
