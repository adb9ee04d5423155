"""JSON Schemas (drafts 4, 6, 7, 2019-09 and 2020-12) -> types.

Sources: the drafts for `$ref`, `$id`, `$anchor`, `type` and the combinators; Confluent's page on data types
for Flink, whose tables Tableflow shares, and Connect's JSON Schema converter for `connect.type`, the titles
`org.apache.kafka.connect.data.*` and `oneOf`. An integer is a long and a number a double unless
`connect.type` is narrower; a `format` changes nothing; an object without properties is a map if it says what
its values are, else the JSON text. Properties that a schema does not name are left out of the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from lineage_bridge_dagster.topics import types
from lineage_bridge_dagster.topics.errors import SchemaError
from lineage_bridge_dagster.topics.json_nodes import JsonNode, Kind, Property
from lineage_bridge_dagster.topics.schemas import RegisteredSchema
from lineage_bridge_dagster.topics.types import joined

_CONNECT = "org.apache.kafka.connect.data."
#: Connect's precision of a decimal that has none.
_DEFAULT_PRECISION = types.MAX_PRECISION
_HINT = "Correct the schema in the Schema Registry."

_CONNECT_TYPES = {
    "int8": Kind.INT,
    "int16": Kind.INT,
    "int32": Kind.INT,
    "int64": Kind.LONG,
    "float32": Kind.FLOAT,
    "float64": Kind.DOUBLE,
    "string": Kind.STRING,
    "bytes": Kind.BINARY,
    "boolean": Kind.BOOLEAN,
}
#: Pairs of alternatives that are one column, of the second one's type.
_WIDER = (
    (Kind.INT, Kind.LONG),
    (Kind.TIME, Kind.INT),
    (Kind.TIME, Kind.LONG),
    (Kind.FLOAT, Kind.DOUBLE),
    (Kind.LONG, Kind.DOUBLE),
)
_SIMPLE = {
    "string": Kind.STRING,
    "boolean": Kind.BOOLEAN,
    "integer": Kind.LONG,
    "number": Kind.DOUBLE,
}


def json_node(schema: RegisteredSchema) -> JsonNode:
    """What a registered JSON Schema says of its values.

    Raises:
        SchemaError: the text is no JSON Schema, a reference is missing, or a type contains itself.
    """
    return _Reader(schema).root()


class _Reader:
    def __init__(self, schema: RegisteredSchema) -> None:
        self._documents: dict[str, Any] = {}
        #: Base URI and fragment or anchor -> a subschema that has an `$id` or an anchor.
        self._named: dict[str, tuple[Any, str]] = {}
        for name, text in (("", schema.text), *schema.references):
            try:
                document = json.loads(text)
            except ValueError as error:
                where = f"reference {name}" if name else "schema"
                raise SchemaError(f"The {where} is not JSON: {text[:80]!r}.", hint=_HINT) from error
            self._documents[name] = document
            for base, found in _identified(document, name):
                self._named.setdefault(base, (found, base.partition("#")[0] or name))
        #: The schemas that enclose the current one; empty for one without a name.
        self._stack = ["#"]

    def root(self) -> JsonNode:
        try:
            return self._node(self._documents[""], "", "")
        except (TypeError, AttributeError, KeyError, RecursionError) as error:
            raise SchemaError(f"The schema is not a JSON Schema ({error!r}).", hint=_HINT) from error

    def _node(self, schema: Any, path: str, base: str) -> JsonNode:
        types.check_depth(self._stack, path)
        if isinstance(schema, bool) or not schema:
            return JsonNode(Kind.ANY, nullable=True)
        if (reference := schema.get("$ref")) is not None:
            return self._referenced(str(reference), path, self._base(schema, base))
        base = self._base(schema, base)
        if parts := schema.get("allOf"):
            return self._all(schema, parts, path, base)
        for word in ("oneOf", "anyOf"):
            if choices := schema.get(word):
                return self._union([_without_title(choice) for choice in choices], choices, path, base)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return self._union([{**schema, "type": kind} for kind in kinds], None, path, base)
        return self._typed(schema, kinds or _implied(schema), path, base)

    def _typed(self, schema: Mapping[str, Any], kind: str | None, path: str, base: str) -> JsonNode:
        connect = schema.get("connect.type")
        title = str(schema.get("title") or "").removeprefix(_CONNECT)
        if kind == "object":
            return self._object(schema, path, base)
        if kind == "array":
            items = schema.get("items")
            if not isinstance(items, dict | bool):
                return JsonNode(Kind.ARRAY, inner=JsonNode(Kind.ANY, nullable=True))
            return JsonNode(Kind.ARRAY, inner=self._inner(items, joined(path, "element"), base))
        if kind == "null":
            return JsonNode(Kind.STRING, nullable=True)
        if title == "Decimal" and str(schema.get("title")) != title and connect in (None, "bytes"):
            return _decimal(schema, kind, path)
        if kind in ("integer", "number") and str(schema.get("title")) != title:
            local = schema.get("flink.type") == "timestamp"
            temporal = {
                "Date": Kind.DATE,
                "Time": Kind.TIME,
                "Timestamp": Kind.TIMESTAMP if local else Kind.TIMESTAMPTZ,
            }
            if title in temporal:
                return JsonNode(temporal[title])
        if connect in _CONNECT_TYPES and kind is not None:
            return JsonNode(_CONNECT_TYPES[connect])
        return JsonNode(_SIMPLE[kind]) if kind in _SIMPLE else JsonNode(Kind.ANY, nullable=True)

    def _object(self, schema: Mapping[str, Any], path: str, base: str) -> JsonNode:
        declared = schema.get("properties") or {}
        if not declared:
            others = schema.get("additionalProperties")
            if not isinstance(others, dict) or not others:
                return JsonNode(Kind.ANY)
            return JsonNode(Kind.MAP, inner=self._inner(others, joined(path, "value"), base))
        required = set(schema.get("required") or ()) if isinstance(schema.get("required"), list) else set()
        # Connect keeps the order of fields, which properties do not have, in an index.
        ordered = sorted(declared.items(), key=lambda each: _index(each[1]))
        properties = tuple(
            Property(
                name,
                self._inner(inner, joined(path, name), base),
                name in required,
                _description(inner),
            )
            for name, inner in ordered
        )
        constants = tuple(
            (name, str(inner["const"]))
            for name, inner in declared.items()
            if isinstance(inner, dict) and isinstance(inner.get("const"), str)
        )
        return JsonNode(Kind.OBJECT, properties, constants=constants)

    def _inner(self, schema: Any, path: str, base: str) -> JsonNode:
        self._stack.append("")
        found = self._node(schema, path, base)
        self._stack.pop()
        return found

    def _all(self, schema: Mapping[str, Any], parts: list[Any], path: str, base: str) -> JsonNode:
        """The parts of `allOf` and the schema itself: the properties of all of them."""
        own = {key: value for key, value in schema.items() if key != "allOf"}
        nodes = [self._node(part, path, base) for part in (own, *parts)]
        objects = [node for node in nodes if node.kind is Kind.OBJECT]
        if objects:
            properties = {each.name: each for node in objects for each in node.properties}
            constants = tuple(constant for node in objects for constant in node.constants)
            return JsonNode(Kind.OBJECT, tuple(properties.values()), constants=constants)
        known = [node for node in nodes if node.kind is not Kind.ANY]
        return known[0] if known else JsonNode(Kind.ANY, nullable=True)

    def _union(self, choices: list[Any], titled: list[Any] | None, path: str, base: str) -> JsonNode:
        nodes: list[JsonNode] = []
        names: list[str] = []
        docs: list[str] = []
        titles = [str(each.get("title") or "") if isinstance(each, dict) else "" for each in titled or ()]
        nullable = False
        for number, choice in enumerate(choices):
            if isinstance(choice, dict) and choice.get("type") == "null":
                nullable = True
                continue
            title = titles[number] if titles else ""
            if sum(other.lower() == title.lower() for other in titles) > 1:
                # It tells none of them from the others.
                title = ""
            name = title or f"connect_union_field_{len(nodes)}"
            node = self._node(choice, path if not title else joined(path, name), base)
            nullable = nullable or node.nullable
            nodes.append(node)
            names.append(name)
            docs.append(_description(choice) if titled else "")
        if not nodes:
            return JsonNode(Kind.STRING, nullable=True)
        kinds = {node.kind for node in nodes}
        if len(set(nodes)) == 1:
            return replace(nodes[0], nullable=nullable)
        if Kind.ANY in kinds:
            return JsonNode(Kind.ANY, nullable=True)
        for wider in _WIDER:
            if kinds == set(wider):
                return JsonNode(wider[1], nullable=nullable)
        alternatives = (
            Property(name, node, doc=doc) for name, node, doc in zip(names, nodes, docs, strict=True)
        )
        return JsonNode(Kind.UNION, tuple(alternatives), nullable=nullable)

    def _referenced(self, reference: str, path: str, base: str) -> JsonNode:
        found, where, target = self._resolved(reference, path, base)
        if target in self._stack:
            raise types.recursive(path, reference)
        self._stack.append(target)
        node = self._node(found, path, where)
        self._stack.pop()
        return node

    def _resolved(self, reference: str, path: str, base: str) -> tuple[Any, str, str]:
        """The schema that a reference points to, the base of its own references, and its full name."""
        url, fragment = urldefrag(urljoin(base, reference) if not reference.startswith("#") else reference)
        url = url or base
        document, where = self._document(url, reference)
        if document is None:
            raise SchemaError.at(
                path,
                f"refers to {reference}, which is not among the schema's references",
                "Register the schema with a reference of that name.",
            )
        target = f"{where}#{fragment}"
        if not fragment:
            return document, where, target
        if fragment.startswith("/"):
            for part in unquote(fragment).split("/")[1:]:
                step = part.replace("~1", "/").replace("~0", "~")
                try:
                    document = document[int(step)] if isinstance(document, list) else document[step]
                except (KeyError, IndexError, ValueError, TypeError) as error:
                    reason = f"refers to {reference}, where there is nothing"
                    raise SchemaError.at(path, reason, _HINT) from error
            return document, where, target
        if (named := self._named.get(target)) is not None:
            return *named, target
        raise SchemaError.at(path, f"refers to the anchor {reference}, which no schema has", _HINT)

    def _document(self, url: str, reference: str) -> tuple[Any, str]:
        for name in (url, urldefrag(reference).url):
            if name in self._named:
                return self._named[name][0], name
            if name in self._documents:
                return self._documents[name], name
        return None, ""

    def _base(self, schema: Mapping[str, Any], base: str) -> str:
        own = schema.get("$id") or schema.get("id")
        if not isinstance(own, str) or own.startswith("#"):
            return base
        url = urldefrag(urljoin(base, own)).url
        return url if url in self._named else base


def _identified(schema: Any, base: str) -> Iterator[tuple[str, Any]]:
    """The subschemas that have an `$id` or an anchor, by their full URI."""
    if isinstance(schema, list):
        for each in schema:
            yield from _identified(each, base)
    if not isinstance(schema, dict):
        return
    own = schema.get("$id") or schema.get("id")
    if isinstance(own, str):
        full = urljoin(base, own)
        if not own.startswith("#"):
            base = urldefrag(full).url
            full = base
        yield full if full.startswith(base) else f"{base}{own}", schema
    for word in ("$anchor", "$dynamicAnchor"):
        if isinstance(anchor := schema.get(word), str):
            yield f"{base}#{anchor}", schema
    for each in schema.values():
        yield from _identified(each, base)


def _implied(schema: Mapping[str, Any]) -> str | None:
    """The type of a schema that does not say it."""
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    kinds = {names.get(type(value)) for value in values if value is not None}
    return kinds.pop() if len(kinds) == 1 else None


def _without_title(schema: Any) -> Any:
    """An alternative without the title that names it, unless it is one of Connect's types."""
    if isinstance(schema, dict) and not str(schema.get("title") or "").startswith(_CONNECT):
        return {key: value for key, value in schema.items() if key != "title"}
    return schema


def _description(schema: Any) -> str:
    """What describes a value; of an optional one in Connect's way, within the alternative to null."""
    if not isinstance(schema, dict):
        return ""
    if own := schema.get("description"):
        return str(own)
    choices = schema.get("oneOf") or schema.get("anyOf") or []
    present = [each for each in choices if isinstance(each, dict) and each.get("type") != "null"]
    return _description(present[0]) if len(present) == 1 else ""


def _index(schema: Any) -> int:
    index = schema.get("connect.index") if isinstance(schema, dict) else None
    return index if isinstance(index, int) else 0


def _decimal(schema: Mapping[str, Any], kind: str | None, path: str) -> JsonNode:
    parameters = schema.get("connect.parameters") or {}
    precision = int(parameters.get("connect.decimal.precision", _DEFAULT_PRECISION))
    scale = int(parameters.get("scale", 0))
    column = types.decimal(precision, scale, path)
    written = Kind.DECIMAL_BASE64 if kind == "string" else Kind.DECIMAL_NUMBER
    return JsonNode(written, decimal=(column.precision, column.scale))
