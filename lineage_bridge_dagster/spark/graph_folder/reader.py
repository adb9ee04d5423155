"""Reading the files of a graph's folder that `writer` wrote: numbers as arrays, texts only where needed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lineage_bridge_dagster.lineage.graph_folder import EDGES, NODES

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class ParquetRows:
    """The rows of a file, by their numbers; the row groups that were read last are kept.

    Args:
        path: the file.
        columns: the columns to read; those of a struct, with its name before theirs.
        kept: row groups in memory at most.
    """

    def __init__(self, path: Path, columns: Sequence[str], kept: int = 8) -> None:
        self._file = pq.ParquetFile(path)
        self._columns = list(columns)
        self._kept = kept
        self._groups: OrderedDict[int, pa.Table] = OrderedDict()
        about = self._file.metadata
        rows = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
        #: The number of the first row of each group, and of all rows.
        self.starts: Numbers = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)]).astype(np.int64)

    def take(self, numbers: npt.NDArray[Any]) -> pa.Table:
        """Some rows, in this order; a row may be asked for several times."""
        wanted, places = np.unique(numbers, return_inverse=True)
        bounds = np.searchsorted(wanted, self.starts)
        parts = [
            self._group(group).take(wanted[start:end] - self.starts[group])
            for group, (start, end) in enumerate(pairwise(bounds.tolist()))
            if start < end
        ]
        found = pa.concat_tables(parts) if parts else self.empty
        return found.combine_chunks().take(places)

    def groups(self) -> Iterator[pa.Table]:
        """All rows, a row group at a time."""
        return map(self._read, range(len(self.starts) - 1))

    @property
    def empty(self) -> pa.Table:
        """No rows, with the columns."""
        return self._file.schema_arrow.empty_table().flatten().select(self._columns)

    def _group(self, group: int) -> pa.Table:
        if group not in self._groups:
            self._groups[group] = self._read(group)
            if len(self._groups) > self._kept:
                self._groups.popitem(last=False)
        self._groups.move_to_end(group)
        return self._groups[group]

    def _read(self, group: int) -> pa.Table:
        read = self._file.read_row_group(group, columns=self._columns, use_threads=False)
        return read.flatten().select(self._columns).combine_chunks()


@dataclass(frozen=True)
class NodeFile:
    """`nodes.parquet` of a folder."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / NODES

    def __len__(self) -> int:
        return int(pq.read_metadata(self.path).num_rows)

    @cached_property
    def tables(self) -> pa.Table:
        """`table, table_id, database, table_name` of all tables that take lineage; `table` is the number."""
        rows = ParquetRows(self.path, ["node_id", "database", "table_name"])
        parts = [rows.empty.add_column(0, "table", pa.array([], pa.int32()))]
        for start, part in zip(rows.starts.tolist(), rows.groups(), strict=False):
            numbers = pa.array(np.arange(start, start + part.num_rows), pa.int32())
            parts.append(part.add_column(0, "table", numbers).filter(part["database"].is_valid()))
        names = ["table", "table_id", "database", "table_name"]
        return pa.concat_tables(parts).rename_columns(names).combine_chunks()

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column of numbers or flags, or of a struct's, as `hop.digest`."""
        return column(self.path, name)

    @property
    def stale(self) -> Flags:
        """Whether each node was not seen by the discovery."""
        return np.asarray(_read(self.path, "hop.stale_since").is_valid().to_numpy())

    def numbers_of(self, node_ids: Collection[str]) -> dict[str, int]:
        """The numbers of some nodes, by their ids; those that are not there have none."""
        wanted = pa.array(sorted(node_ids), pa.string())
        rows = ParquetRows(self.path, ["node_id"])
        found: dict[str, int] = {}
        for start, part in zip(rows.starts.tolist(), rows.groups(), strict=False):
            numbers = np.flatnonzero(pc.is_in(part["node_id"], value_set=wanted).to_numpy())
            found |= dict(
                zip(part["node_id"].take(numbers).to_pylist(), (numbers + start).tolist(), strict=True)
            )
        return found

    def groups(self) -> Groups:
        """The groups of nodes, by `gap_groups`."""
        return Groups.of(self.path)


@dataclass(frozen=True)
class EdgeFile:
    """`edges.parquet` of a folder.

    Attributes:
        sources: the number of the node that each edge comes from; -1 for one that is not there.
        targets: of the node that it leads to.
        flows: whether data flows along.
    """

    path: Path
    sources: npt.NDArray[np.int32] = field(repr=False)
    targets: npt.NDArray[np.int32] = field(repr=False)
    flows: Flags = field(repr=False)

    @classmethod
    def of(cls, folder: Path) -> EdgeFile:
        """Read the ends of all edges."""
        path = folder / EDGES
        return cls(path, *(column(path, name) for name in ("src", "dst", "flows")))

    @cached_property
    def between_nodes(self) -> Flags:
        """The edges along which data flows from one node to another, both of them there."""
        return self.flows & (self.sources >= 0) & (self.targets >= 0)

    @property
    def dangling(self) -> npt.NDArray[np.int32]:
        """Where edges lead along which data would flow from nodes that are not there."""
        return self.targets[self.flows & (self.sources < 0) & (self.targets >= 0)]

    def groups(self) -> Groups:
        """The groups of edges, by `gap_groups`."""
        return Groups.of(self.path)

    def inputs(self) -> dict[tuple[int, int], list[str]]:
        """The ids of the inputs of each output, by `(process, output)`, if known: see `Edge.inputs`."""
        rows = ParquetRows(self.path, ["inputs"])
        found = {}
        for start, part in zip(rows.starts.tolist(), rows.groups(), strict=False):
            for row in np.flatnonzero(part["inputs"].is_valid().to_numpy()).tolist():
                if self.between_nodes[start + row]:
                    ends = int(self.sources[start + row]), int(self.targets[start + row])
                    found[ends] = part["inputs"][row].as_py()
        return found


@dataclass(frozen=True)
class Groups:
    """The group of each row.

    Attributes:
        names: of the groups.
        of_rows: the place in `names` of each row's.
    """

    names: list[str]
    of_rows: npt.NDArray[np.int32] = field(repr=False)

    @classmethod
    def of(cls, path: Path) -> Groups:
        """Read them from a file."""
        read = pq.read_table(path, columns=["gaps"], read_dictionary=["gaps"]).unify_dictionaries()
        chunks = read["gaps"].chunks
        names = chunks[0].dictionary.to_pylist() if chunks else []
        places = [chunk.indices.to_numpy() for chunk in chunks]
        return cls(names, np.concatenate([np.empty(0, dtype=np.int32), *places]))

    def rows_in(self, groups: Collection[str]) -> Flags:
        """Whether each row is in one of some groups."""
        found = np.array([name in groups for name in self.names], dtype=np.bool_)
        return found[self.of_rows] if len(found) else np.zeros(len(self.of_rows), dtype=np.bool_)


def column(path: Path, name: str) -> npt.NDArray[Any]:
    """A column of numbers or flags of a file, or of a struct's as `hop.digest`; null is -1."""
    found = _read(path, name)
    if found.null_count:
        found = pc.fill_null(found, -1)
    return np.asarray(found.to_numpy())


def _read(path: Path, name: str) -> pa.ChunkedArray:
    with pq.ParquetFile(path) as file:
        return file.read(columns=[name]).flatten()[name]
