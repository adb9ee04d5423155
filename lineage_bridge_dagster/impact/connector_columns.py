"""The columns that a connector passes on, through its transforms. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    ConnectRecord,
    FieldPath,
    RecordNode,
    anything,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.columns.transforms import transformed
from lineage_bridge_dagster.confluent.connectors.config import Config, split_list
from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics

#: Simple names of transforms that put other values into fields: the word for it, the setting that lists the
#: fields (with a detail after a colon), and the setting of a detail for all of them.
_CHANGES = {
    "MaskField": ("masked", "fields", "replacement"),
    "Cast": ("cast", "spec", ""),
    "TimestampConverter": ("cast", "field", "target.type"),
    "Hash": ("masked", "field.name", "function"),
}
_INSERTED = ("topic.field", "partition.field", "offset.field", "timestamp.field", "static.field")
_NO_TOPICS = ExistingTopics(())


class Passed(NamedTuple):
    """Where a column that arrives comes from.

    Attributes:
        columns: The columns that go in; none for one that the connector makes itself.
        how: What happens to its values: empty if nothing, else words and settings.
        unknown: Why that is not known; empty if it is.
    """

    columns: frozenset[str]
    how: str = ""
    unknown: str = ""


def passed_columns(config: Config, columns: Iterable[str]) -> dict[str, Passed]:
    """The columns that arrive, with where they come from.

    Args:
        config: A sink's configuration.
        columns: The columns that go in, nested ones as `address.zip` besides their outer one.
    """
    found = _through(config, _tree(columns))
    kept = config.items("fields.whitelist")
    return {name: of for name, of in found.items() if not kept or name.partition(".")[0] in kept}


def rewritten_columns(
    old: Config, new: Config, columns: Iterable[str]
) -> tuple[dict[str, Passed], dict[str, Passed]]:
    """The columns of a source's topic before and after another configuration, with where they come from.

    Args:
        old: The configuration under which the topic has these columns.
        new: The other one.
        columns: The topic's columns.
    """
    names = [*columns]
    record = transformed(ConnectRecord(value=anything("")), old, "", _NO_TOPICS).value
    read = {name: record.at(*name.split(".")) if record is not None else None for name in names}
    before = {
        name: Passed(_names(node), _how(old, _names(node)), node.unknown)
        for name, node in read.items()
        if node is not None
    }
    captured = dict.fromkeys(column for each in before.values() for column in each.columns)
    return before, _through(new, _tree(captured))


def _names(node: RecordNode) -> frozenset[str]:
    return frozenset(source.removeprefix(".") for source in node.sources)


def _tree(columns: Iterable[str]) -> RecordNode:
    """A struct of columns; each field, also one with fields of its own, has its name as its source."""
    tree = struct({})
    for name in columns:
        path = name.split(".")
        inner = tree.at(*path)
        node = RecordNode(frozenset({name}), inner.fields if inner is not None else None)
        tree = tree.with_field(path, node)
    return tree


def _through(config: Config, tree: RecordNode) -> dict[str, Passed]:
    value = transformed(ConnectRecord(value=tree), config, "", _NO_TOPICS).value
    if value is None:
        return {}
    found = {}
    for path, node in _nodes(value, ()):
        how = _how(config, node.sources) if node.sources else _made_up(config, path)
        found[".".join(path)] = Passed(node.sources, how, node.unknown)
    return found


def _nodes(node: RecordNode, path: FieldPath) -> Iterator[tuple[FieldPath, RecordNode]]:
    """The fields at all levels."""
    if path:
        yield path, node
    for name, inner in node.known.items():
        yield from _nodes(inner, (*path, name))


def _how(config: Config, columns: frozenset[str]) -> str:
    """What transforms do to the values of columns, in order."""
    labels = config.items("transforms")
    words = []
    for position, label in enumerate(labels):
        prefix = f"transforms.{label}."
        name, _, side = config.get(f"{prefix}type").rpartition(".")[2].partition("$")
        if name not in _CHANGES or side == "Key":
            continue
        word, listed, detail = _CHANGES[name]
        before = config.with_values(transforms=",".join(labels[:position]))
        record = transformed(ConnectRecord(value=_tree(columns)), before, "", _NO_TOPICS).value
        for item in split_list(config.get(prefix + listed)):
            field, _, own = item.partition(":")
            node = record.at(*field.split(".")) if record is not None else None
            if node is not None and node.sources & columns:
                words.append(f"{word} {own or (config.get(prefix + detail) if detail else '')}".strip())
    return " ".join(words)


def _made_up(config: Config, path: FieldPath) -> str:
    """What a field is that a transform inserts."""
    for label in config.items("transforms"):
        prefix = f"transforms.{label}."
        for key in _INSERTED:
            if config.get(prefix + key).rstrip("!?") == ".".join(path):
                return f"{key} {config.get(f'{prefix}static.value')}".strip()
    return ""
