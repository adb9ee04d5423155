"""What a sink's reader is asked, and what it answers: the columns of one dataset, made of one record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    ConnectRecord,
    RecordNode,
    merged,
)
from lineage_bridge_dagster.confluent.connectors.config import Config

#: Stands for all names, in the path of a column whose name is not known.
ANY = "*"
#: Why a column is not known to be written.
NO_COLUMN = "the table has no such column, and the connector may not add it"
#: Why the fields of a record are not known.
NO_SCHEMA = "the record has no schema that names its fields"
NO_STRUCTURE = "the record's value is not a structure with fields"


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """A column, or a field of a document, that a sink writes.

    Attributes:
        path: Below the dataset; dots lead into structures, and `*` stands for any name.
        sources: The fields of the topic that it is made of; empty for what is generated, or metadata.
        unknown: Why its sources, or whether it exists at all, are not known; empty if they are.
        place: The part of the dataset that it is in, if that has a name of its own, such as a label of Neo4j
            or a stream of Redis; else empty.
    """

    path: str
    sources: frozenset[str] = frozenset()
    unknown: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class SinkDataset:
    """A dataset that the records of a topic are written to.

    Attributes:
        config: The connector's configuration.
        topic: Named as the connector sees it, after its transforms.
        dataset: Named as its family names it.
        record: The topic's record, after the transforms.
        columns: Those of the dataset, by a catalog; empty if no catalog tells.
    """

    config: Config
    topic: str
    dataset: str
    record: ConnectRecord
    columns: tuple[str, ...] = ()
    _by_name: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        folded = {name.lower(): name for name in reversed(self.columns)}
        object.__setattr__(self, "_by_name", {**folded, **{name: name for name in self.columns}})

    def existing(self, name: str, *, any_case: bool = False) -> str:
        """The name of a column as the catalog spells it; empty if there is none."""
        found = self._by_name.get(name) or (self._by_name.get(name.lower()) if any_case else "")
        return found if found and (any_case or found == name) else ""

    def existing_path(self, path: str, *, any_case: bool = False) -> str:
        """Like `existing`, for a path; the catalog may know only the column that the path starts with."""
        top, dot, rest = path.partition(".")
        if (found := self.existing(path, any_case=any_case)) or not dot:
            return found
        found = self.existing(top, any_case=any_case)
        return f"{found}.{rest}" if found else ""


#: Yields the columns that a sink writes. It never raises on a configuration: what the configuration or the
#: record leaves open is a column with a reason.
ColumnReader = Callable[[SinkDataset], Iterable[WrittenColumn]]

#: The readers by the family of their connectors.
READERS: dict[str, ColumnReader] = {}


def writes(families: str) -> Callable[[ColumnReader], ColumnReader]:
    """Declare the reader of the columns that the sinks of some families, separated by spaces, write."""

    def declare(reader: ColumnReader) -> ColumnReader:
        READERS.update(dict.fromkeys(families.split(), reader))
        return reader

    return declare


def column(path: str, node: RecordNode | None, missing: str = "") -> WrittenColumn:
    """A column that takes a whole node, with all its fields.

    Args:
        node: What it takes; None if the record has no such field.
        missing: Why the column is not known if there is no node.
    """
    if node is None:
        return WrittenColumn(path, unknown=missing)
    whole = node.whole()
    return WrittenColumn(path, frozenset() if whole.unknown else whole.sources, whole.unknown)


def joined(path: str, nodes: Iterable[RecordNode]) -> WrittenColumn:
    """A column that is made of several nodes."""
    return column(path, merged(nodes))


def generated(*paths: str) -> Iterator[WrittenColumn]:
    """Columns that are made of no field, such as coordinates of the record or an identifier of the store."""
    return (WrittenColumn(path) for path in paths)


def unknown(reason: str, path: str = ANY) -> Iterator[WrittenColumn]:
    """A column of which only the reason is known why it is not."""
    yield WrittenColumn(path, unknown=reason)


def row(node: RecordNode | None, name: Callable[[str], str] = str) -> Iterator[WrittenColumn]:
    """A column for each field of a structure, whatever is in it."""
    if node is None:
        return
    for own, child in node.known.items():
        yield column(name(own), child)
    yield from unnamed(node)


def tree(
    node: RecordNode | None, prefix: str = "", name: Callable[[str], str] = str
) -> Iterator[WrittenColumn]:
    """A field for each leaf of a structure, below the same names.

    Args:
        node: The structure; a leaf is a field of its own if there is a prefix.
        prefix: Path of the structure in the dataset.
        name: Names a part of the path after its field.
    """
    if node is None:
        return
    start = (prefix,) if prefix else ()
    if not node.is_struct and not start:
        yield from unnamed(node)
        return
    for path, leaf in node.leaves():
        place = (*start, *map(name, path))
        if leaf.open:
            yield from unnamed(leaf, ".".join((*place, ANY)))
        else:
            yield column(".".join(place), leaf)


def unnamed(node: RecordNode, path: str = ANY) -> Iterator[WrittenColumn]:
    """What is not known of the fields of a node, if it is not a structure of which all are."""
    if node.open or not node.is_struct:
        yield from unknown(node.unknown or (NO_SCHEMA if node.open else NO_STRUCTURE), path)
