"""What the fields of nodes hold, and how each kind of value is read from JSON and written to it.

Reading accepts any value: what is missing or of another type reads as empty, and nothing raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Field(NamedTuple):
    """A field of a schema or a column of a table."""

    name: str
    type: str = ""
    comment: str = ""


class FormatError(NamedTuple):
    """A table format that Tableflow fails to write, such as `ICEBERG`."""

    format: str
    error: str = ""


class CatalogSync(NamedTuple):
    """State of Tableflow's sync to one catalog: `type` as in `AWS_GLUE`, `status` as in `SYNCED`."""

    type: str
    status: str = ""
    error: str = ""


class CatalogIntegrationState(NamedTuple):
    """A catalog integration of a Kafka cluster: `type` as in `AWS_GLUE`, `phase` as in `CONNECTED`.

    `syncs_topic` means that Tableflow reports a sync of this topic by it.
    """

    id: str
    name: str = ""
    type: str = ""
    phase: str = ""
    error: str = ""
    suspended: bool = False
    syncs_topic: bool = False

    @property
    def label(self) -> str:
        return f"{self.name} ({self.id})" if self.name else self.id


class ErrorHandling(NamedTuple):
    """What becomes of a record that cannot be a row: `SUSPEND`, `SKIP`, or `LOG` to the topic `target`."""

    mode: str = ""
    target: str = ""


class Codec(NamedTuple):
    """How a field of one type is read from a JSON value, and written as one."""

    read: Callable[[object], Any]
    write: Callable[[Any], Any]


def is_empty(value: object) -> bool:
    """Whether a JSON value tells nothing. False and 0 do."""
    return value is None or value in ("", [], {}, ())


def read_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def read_texts(value: object) -> tuple[str, ...]:
    """A list of texts; a single text counts as a list of one."""
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(item for item in _list(value) if isinstance(item, str))


def read_number(value: object) -> int | None:
    """An integer, or a text that holds one, as Kafka's settings do."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None


def read_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _read_flag(value: object) -> bool:
    return value is True


def _read_switch(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _read_error_handling(value: object) -> ErrorHandling:
    """A mode with its topic; a text is a mode alone."""
    fields = {"mode": value} if isinstance(value, str) else read_mapping(value)
    return ErrorHandling(read_text(fields.get("mode")), read_text(fields.get("target")))


def _read_fields(value: object) -> list[Field]:
    """A list of `{name, type, comment}`, without entries that have no name.

    LineageBridge calls the comment of a schema's field its `description`.
    """
    found = []
    for item in _list(value):
        # An exact type is checked faster than an interface, and a large graph has millions of fields.
        if type(item) is not dict and not isinstance(item, Mapping):
            continue
        read = item.get
        if (name := read("name")) in (None, ""):
            continue
        kind, comment = read("type"), read("comment")
        if comment is None or comment == "":
            comment = read("description")
        found.append(
            Field(
                name if type(name) is str else _shown(name),
                kind if type(kind) is str else _shown(kind),
                comment if type(comment) is str else _shown(comment),
            )
        )
    return found


def _write_fields(fields: Sequence[Field]) -> list[dict[str, str]]:
    return [
        {"name": name, "type": kind, **({"comment": comment} if comment else {})}
        for name, kind, comment in fields
    ]


def _write_columns(columns: Sequence[Field]) -> list[dict[str, str | None]]:
    return [
        {"name": name or None, "type": kind or None, "comment": comment or None}
        for name, kind, comment in columns
    ]


def _records(record: Any) -> Codec:
    """A list of objects, each read as this kind of tuple; written without what is empty or false."""
    flags = record.__annotations__

    def read(value: object) -> list[Any]:
        return [
            record(
                *(
                    _read_flag(item.get(name)) if flags[name] == "bool" else _shown(item.get(name))
                    for name in record._fields
                )
            )
            for item in _list(value)
            if isinstance(item, Mapping)
        ]

    def write(items: Sequence[Any]) -> list[dict[str, Any]]:
        return [_without_empty(item) for item in items]

    return Codec(read, write)


def _without_empty(item: Any) -> dict[str, Any]:
    return {name: value for name, value in item._asdict().items() if value}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _shown(value: object) -> str:
    """A text as it is; anything else, such as a nested type, as compact JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _same(value: Any) -> Any:
    return value


#: The columns of a table in a catalog, each written with its comment even if it has none.
COLUMNS = Codec(_read_fields, _write_columns)

#: By the type of a field.
CODECS: Mapping[Any, Codec] = {
    str: Codec(read_text, str),
    int | None: Codec(read_number, _same),
    bool: Codec(_read_flag, _same),
    bool | None: Codec(_read_switch, _same),
    Sequence[str]: Codec(read_texts, lambda texts: [*map(str, texts)]),
    Mapping[str, Any]: Codec(read_mapping, dict),
    Sequence[Field]: Codec(_read_fields, _write_fields),
    Sequence[FormatError]: _records(FormatError),
    Sequence[CatalogSync]: _records(CatalogSync),
    Sequence[CatalogIntegrationState]: _records(CatalogIntegrationState),
    ErrorHandling: Codec(_read_error_handling, _without_empty),
    Any: Codec(_same, _same),
}
