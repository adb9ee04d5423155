"""What a source's reader is asked, and what it answers: the record that it makes of its datasets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    ConnectRecord,
    RecordNode,
    anything,
    either,
    leaf,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema

#: Metadata of an event, clocks and synthetic data: a struct whose fields are made of nothing.
METADATA = RecordNode(open=True)


@dataclass(frozen=True, slots=True)
class SourceTopic:
    """A topic that a source writes.

    Attributes:
        config: The connector's configuration.
        topic: The topic, named as the cluster has it.
        datasets: What its records come from; empty if that is not known.
        tables: The columns of datasets, by a catalog; nested ones as `address.city`.
    """

    config: Config
    family: str
    topic: str
    datasets: tuple[str, ...]
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def row(self, keep: Callable[[str, str], bool] | None = None) -> RecordNode:
        """The columns of its datasets as a struct; open if no catalog tells those of one of them.

        Args:
            keep: Whether a column of a dataset is read; all are, if None.
        """
        rows = [self._row(dataset, keep) for dataset in self.datasets]
        if not rows:
            return RecordNode(open=True, unknown="it is not known what the topic is made of")
        found = rows[0]
        for row in rows[1:]:
            found = united(found, row)
        return found

    def _row(self, dataset: str, keep: Callable[[str, str], bool] | None) -> RecordNode:
        columns = self.columns(dataset)
        if not columns:
            return anything(dataset)
        node = struct({})
        for column in columns:
            if keep is None or keep(dataset, column):
                node = node.with_field(column.split("."), leaf(f"{dataset}.{column}"))
        return node

    def columns(self, dataset: str) -> Sequence[str]:
        """The columns of a dataset, whose name may be spelled in another case."""
        found = self.tables.get(dataset)
        if found is None:
            folded = dataset.casefold()
            found = next((each for name, each in self.tables.items() if name.casefold() == folded), ())
        return found

    def any_field(self) -> RecordNode:
        """A struct of which each field is the column of its name, whatever the catalog says."""
        if not self.datasets:
            return self.row()
        return RecordNode(frozenset(self.datasets), open=True)


def united(one: RecordNode, other: RecordNode) -> RecordNode:
    """The rows of several tables that one topic has: a field is made of the columns of its name."""
    fields = {}
    for name in dict.fromkeys((*one.known, *other.known)):
        left, right = one.known.get(name), other.known.get(name)
        fields[name] = either(left, right, "") or leaf()
    sources = one.sources | other.sources
    return RecordNode(sources, fields or None, open=one.open or other.open)


#: Makes the record of a topic. It never raises on a configuration: what stays open is an open node.
RecordReader = Callable[[SourceTopic], ConnectRecord]

#: The readers by the family of their connectors.
READERS: dict[str, RecordReader] = {}
#: Readers of the schema of the value that a configuration itself holds.
DECLARED: dict[str, Callable[[Config], RegisteredSchema | None]] = {}


def reads(families: str) -> Callable[[RecordReader], RecordReader]:
    """Declare the reader of the records that the sources of some families, separated by spaces, make."""

    def declare(reader: RecordReader) -> RecordReader:
        READERS.update(dict.fromkeys(families.split(), reader))
        return reader

    return declare


def matches(pattern: str, text: str) -> bool:
    """Whether one of the regular expressions of a list matches a whole name, in any case."""
    for each in pattern.split(","):
        try:
            if re.fullmatch(each.strip(), text, re.IGNORECASE):
                return True
        except re.error:
            if each.strip().casefold() == text.casefold():
                return True
    return False
