"""The schema that a source connector registers when a field goes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, RegisteredSchema


def without_fields(schema: RegisteredSchema, paths: Collection[str]) -> RegisteredSchema:
    """The schema without some fields; unchanged if it has none of them.

    Args:
        schema: The schema of a record.
        paths: The fields, nested ones as `after.email`.
    """
    if schema.type not in (AVRO, JSON):
        return replace(schema, text=_without_protobuf(schema.text, paths))
    document = json.loads(schema.text)
    edit = _without_avro if schema.type == AVRO else _without_json
    changed = document
    for path in paths:
        changed = edit(changed, path.split("."))
    return schema if changed == document else replace(schema, text=json.dumps(changed))


def _without_avro(kind: Any, path: list[str]) -> Any:
    if isinstance(kind, list):
        return [_without_avro(each, path) for each in kind]
    if not isinstance(kind, Mapping) or "fields" not in kind:
        return kind
    name, *rest = path
    fields = [each for each in kind["fields"] if rest or each["name"] != name]
    if rest:
        fields = [
            {**each, "type": _without_avro(each["type"], rest)} if each["name"] == name else each
            for each in fields
        ]
    return {**kind, "fields": fields}


def _without_json(kind: Any, path: list[str]) -> Any:
    if not isinstance(kind, Mapping) or not isinstance(kind.get("properties"), Mapping):
        return kind
    name, *rest = path
    properties = dict(kind["properties"])
    if rest and name in properties:
        properties[name] = _without_json(properties[name], rest)
        return {**kind, "properties": properties}
    properties.pop(name, None)
    required = [each for each in kind.get("required", ()) if each != name]
    return {**kind, "properties": properties, **({"required": required} if "required" in kind else {})}


def _without_protobuf(text: str, paths: Collection[str]) -> str:
    """Outer fields of the first message; a statement of one ends in its number."""
    for path in paths:
        text = re.sub(
            rf"^[^\n;{{}}]*\b{re.escape(path)}\s*=\s*\d+[^;\n]*;", "", text, count=1, flags=re.MULTILINE
        )
    return text
