"""The columns that a connector passes on, through the transforms that change fields. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from lineage_bridge_dagster.confluent.connectors.config import Config, split_list


class Passed(NamedTuple):
    """Where a column that arrives comes from.

    Attributes:
        column: The column that goes in; empty for one that the connector makes itself.
        how: What happens to its values: empty if nothing, else a word and its settings.
    """

    column: str
    how: str = ""


_Columns = dict[str, Passed]
_Transform = Callable[[_Columns, Callable[[str], str]], _Columns]


def passed_columns(config: Config, columns: Iterable[str]) -> dict[str, Passed]:
    """The columns that arrive, with where they come from.

    Args:
        config: A connector's configuration.
        columns: The columns that go in, nested ones as `address.zip` besides their outer one.
    """
    found: _Columns = {name: Passed(name) for name in columns}
    for label in config.items("transforms"):
        prefix = f"transforms.{label}."
        name, _, side = config.get(f"{prefix}type").rpartition(".")[2].partition("$")
        transform = _TRANSFORMS.get(name)
        if transform is not None and side != "Key":
            found = transform(found, lambda key, prefix=prefix: config.get(prefix + key))  # type: ignore[misc]
    kept = config.items("fields.whitelist")
    return {name: of for name, of in found.items() if not kept or name.partition(".")[0] in kept}


def _replaced(columns: _Columns, get: Callable[[str], str]) -> _Columns:
    excluded = split_list(get("exclude") or get("blacklist"))
    included = split_list(get("include") or get("whitelist"))
    names = dict(item.split(":", 1) for item in split_list(get("renames")) if ":" in item)
    found = {}
    for name, of in columns.items():
        outer, dot, rest = name.partition(".")
        if outer not in excluded and (not included or outer in included):
            found[f"{names.get(outer, outer)}{dot}{rest}"] = of
    return found


def _changed(word: str, key: str, detail: str = "") -> _Transform:
    """A transform that puts other values into the fields that one of its settings lists."""

    def transform(columns: _Columns, get: Callable[[str], str]) -> _Columns:
        listed = {item.partition(":")[0]: item.partition(":")[2] for item in split_list(get(key))}
        return {
            name: of._replace(how=f"{of.how} {word} {listed[name] or get(detail)}".strip())
            if name in listed
            else of
            for name, of in columns.items()
        }

    return transform


def _inserted(columns: _Columns, get: Callable[[str], str]) -> _Columns:
    keys = ("topic.field", "partition.field", "offset.field", "timestamp.field", "static.field")
    new = {
        name.rstrip("!?"): Passed("", f"{key} {get('static.value')}") for key in keys if (name := get(key))
    }
    return {**columns, **new}


def _extracted(columns: _Columns, get: Callable[[str], str]) -> _Columns:
    outer = f"{get('field')}."
    return {name.removeprefix(outer): of for name, of in columns.items() if name.startswith(outer)}


def _hoisted(columns: _Columns, get: Callable[[str], str]) -> _Columns:
    return {f"{get('field')}.{name}": of for name, of in columns.items()}


def _flattened(columns: _Columns, get: Callable[[str], str]) -> _Columns:
    outer = {name.rpartition(".")[0] for name in columns}
    delimiter = get("delimiter") or "."
    return {name.replace(".", delimiter): of for name, of in columns.items() if name not in outer}


_TRANSFORMS: Mapping[str, _Transform] = {
    "ReplaceField": _replaced,
    "MaskField": _changed("masked", "fields", "replacement"),
    "Cast": _changed("cast", "spec"),
    "TimestampConverter": _changed("cast", "field", "target.type"),
    "InsertField": _inserted,
    "ExtractField": _extracted,
    "HoistField": _hoisted,
    "Flatten": _flattened,
}
