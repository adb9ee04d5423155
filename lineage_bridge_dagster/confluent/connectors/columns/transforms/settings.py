"""The settings of one transform, and the registry of what transforms do to records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord, RecordNode
from lineage_bridge_dagster.confluent.connectors.config import UNRESOLVED, Config, split_list


class UnknownChangeError(Exception):
    """What a transform does to a record is not known. The message says why."""


@dataclass(frozen=True, slots=True)
class FieldSettings:
    """The settings under one label.

    Attributes:
        config: The connector's configuration.
        prefix: `transforms.mask.`, for example.
        side: `Key` or `Value` of a class that has one for each; else empty.
    """

    config: Config
    prefix: str
    side: str = ""

    def get(self, *names: str, default: str = "") -> str:
        """The first of these settings that has a value.

        Raises:
            UnknownChangeError: Only the Connect worker knows it.
        """
        value = self.config.get(*(self.prefix + name for name in names), default=default)
        if UNRESOLVED in value:
            raise UnknownChangeError(f"only the Connect worker knows {self.prefix}{names[0]}")
        return value

    def items(self, *names: str, default: str = "") -> list[str]:
        """Its items, split at commas."""
        return split_list(self.get(*names, default=default))

    def pairs(self, *names: str) -> dict[str, str]:
        """`a:b,c:d` as a mapping, without incomplete pairs."""
        found = (item.partition(":") for item in self.items(*names))
        return {left.strip(): right.strip() for left, middle, right in found if middle and left and right}

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.get(name).lower()
        return default if not value else value == "true"


Change = Callable[[ConnectRecord, FieldSettings], ConnectRecord]
#: What a transform makes of the side that its class names.
SideChange = Callable[[RecordNode, FieldSettings], RecordNode | None]

#: Class, without `$Key` and `$Value` -> what it does.
CHANGES: dict[str, Change] = {}


def transform(*classes: str) -> Callable[[Change], Change]:
    """Declare what transforms of these classes do to a record."""

    def declare(change: Change) -> Change:
        CHANGES.update(dict.fromkeys(classes, change))
        return change

    return declare


def side_transform(*classes: str) -> Callable[[SideChange], SideChange]:
    """Declare what transforms of these classes do to the key or the value; a null stays null."""

    def declare(change: SideChange) -> SideChange:
        CHANGES.update(dict.fromkeys(classes, on_side(change)))
        return change

    return declare


def on_side(change: SideChange) -> Change:
    """A change of the side that the class names: the value, if it names none."""

    def changed(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
        node = side_of(record, settings)
        return record if node is None else with_side(record, settings, change(node, settings))

    return changed


def side_of(record: ConnectRecord, settings: FieldSettings) -> RecordNode | None:
    """The key or the value, as the class names it."""
    return record.key if settings.side == "Key" else record.value


def with_side(record: ConnectRecord, settings: FieldSettings, node: RecordNode | None) -> ConnectRecord:
    """The record with another key or value, as the class names it."""
    return replace(record, key=node) if settings.side == "Key" else replace(record, value=node)


def settings_of(config: Config, label: str) -> tuple[str, FieldSettings]:
    """The class of a transform, without its side, and its settings."""
    prefix = f"transforms.{label}."
    name, _, side = config.get(f"{prefix}type").partition("$")
    return name, FieldSettings(config, prefix, side)
