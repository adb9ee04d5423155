"""Apache Kafka's transforms.

Source: https://kafka.apache.org/documentation/#connect_included_transformation and the classes' code.
"""

from __future__ import annotations

from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    MADE_UP,
    ConnectRecord,
    FieldPath,
    RecordNode,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.columns.transforms.settings import (
    FieldSettings,
    side_of,
    side_transform,
    transform,
    with_side,
)

_PACKAGE = "org.apache.kafka.connect.transforms"


def field_path(settings: FieldSettings, name: str) -> FieldPath:
    """A field's name as a path: with `field.syntax.version=V2`, dots lead into structs, backticks quote."""
    if settings.get("field.syntax.version").upper() != "V2":
        return (name,)
    parts: list[str] = []
    rest = name
    while rest:
        if rest.startswith("`") and (end := rest.find("`.", 1) if "`." in rest[1:] else len(rest) - 1) > 0:
            parts.append(rest[1:end])
            rest = rest[end + 2 :]
        else:
            part, _, rest = rest.partition(".")
            parts.append(part)
    return tuple(parts)


@side_transform(f"{_PACKAGE}.ReplaceField", "io.confluent.connect.transforms.ReplaceField")
def replace_field(node: RecordNode, settings: FieldSettings) -> RecordNode:
    """Fields are chosen and renamed by their names of before."""
    excluded = {*settings.items("exclude", "blacklist")}
    included = {*settings.items("include", "whitelist")}
    renames = settings.pairs("renames")
    if not node.is_struct:
        return node
    if node.open:
        # Fields of unknown names that the settings name become known.
        for name in (*renames, *included):
            if name not in node.known and (found := node.at(name)) is not None:
                node = node.with_field((name,), found)
    gone = excluded | (set(renames) if node.open else set())
    kept = node.renamed(
        lambda name: (
            None if name in excluded or (included and name not in included) else renames.get(name, name)
        )
    )
    return replace(
        kept, open=node.open and not included, without=node.without | gone if node.open else frozenset()
    )


@side_transform(f"{_PACKAGE}.MaskField", f"{_PACKAGE}.Cast", f"{_PACKAGE}.TimestampConverter")
def same_fields(node: RecordNode, _settings: FieldSettings) -> RecordNode:
    """A field whose values change is still made of what it was."""
    return node


@side_transform(f"{_PACKAGE}.InsertField")
def insert_field(node: RecordNode, settings: FieldSettings) -> RecordNode:
    """Metadata and constants under new names, which may end in `!` (required) or `?` (optional)."""
    for setting in ("topic.field", "partition.field", "offset.field", "timestamp.field", "static.field"):
        if name := settings.get(setting).rstrip("!?"):
            node = node.with_field((name,), MADE_UP)
    return node


@side_transform(f"{_PACKAGE}.ExtractField")
def extract_field(node: RecordNode, settings: FieldSettings) -> RecordNode | None:
    """The key or value becomes one of its fields; null, if that is missing."""
    found = node.at(*field_path(settings, settings.get("field")))
    return None if found is None else found


@side_transform(f"{_PACKAGE}.HoistField")
def hoist_field(node: RecordNode, settings: FieldSettings) -> RecordNode:
    return struct({settings.get("field"): node})


@side_transform(f"{_PACKAGE}.Flatten", "io.confluent.connect.transforms.Flatten")
def flatten(node: RecordNode, settings: FieldSettings) -> RecordNode:
    return joined_names(node, settings.config.get(f"{settings.prefix}delimiter", default="."))


def joined_names(node: RecordNode, delimiter: str) -> RecordNode:
    """A struct in which the names of structs within structs are joined; arrays keep what they contain."""
    fields: dict[str, RecordNode] = {}
    starts: dict[str, RecordNode] = {}

    def collect(inner: RecordNode, prefix: str) -> None:
        for name, each in inner.known.items():
            joined = f"{prefix}{delimiter}{name}" if prefix else name
            if each.open:
                starts[joined + delimiter] = each
            if each.fields is not None and not each.array:
                collect(each, joined)
            else:
                fields[joined] = each

    if not node.is_struct:
        return node
    collect(node, "")
    if node.open or not starts:
        return replace(node, fields=fields, starts=starts)
    return replace(node, fields=fields, starts=starts, open=True, unknown="names of fields are not known")


@transform(f"{_PACKAGE}.ValueToKey")
def value_to_key(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """The key becomes a struct of fields of the value."""
    if record.value is None:
        return record
    fields = {}
    for name in settings.items("fields"):
        path = field_path(settings, name)
        if (found := record.value.at(*path)) is not None:
            fields[path[-1]] = found
    return replace(record, key=struct(fields))


@transform(f"{_PACKAGE}.HeaderFrom")
def header_from(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """Fields are copied or moved to headers."""
    node = side_of(record, settings)
    if node is None:
        return record
    headers = dict(record.headers)
    for name, header in zip(settings.items("fields"), settings.items("headers"), strict=False):
        if (found := node.at(name)) is not None:
            headers[header] = found
            if settings.get("operation").lower() == "move":
                node = node.with_field((name,), None)
    return with_side(replace(record, headers=headers), settings, node)


@transform(f"{_PACKAGE}.InsertHeader")
def insert_header(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    return replace(record, headers={**record.headers, settings.get("header"): MADE_UP})


@transform(f"{_PACKAGE}.DropHeaders")
def drop_headers(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    gone = settings.items("headers")
    return replace(record, headers={name: node for name, node in record.headers.items() if name not in gone})
