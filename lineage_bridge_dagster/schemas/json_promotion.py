"""Values of an older JSON Schema as those of a later one.

A version that the Schema Registry takes as compatible reads all that the older one permits: a number for an
integer, one of several types, anything.
"""

from __future__ import annotations

from dataclasses import replace

from lineage_bridge_dagster.schemas.errors import EvolutionError
from lineage_bridge_dagster.schemas.json_nodes import JsonKind, JsonNode, Property

#: Kinds whose values are also values of others.
_WIDER = {
    JsonKind.INT: (JsonKind.LONG, JsonKind.FLOAT, JsonKind.DOUBLE, JsonKind.DECIMAL_NUMBER),
    JsonKind.LONG: (JsonKind.FLOAT, JsonKind.DOUBLE, JsonKind.DECIMAL_NUMBER),
    JsonKind.FLOAT: (JsonKind.DOUBLE, JsonKind.DECIMAL_NUMBER),
    JsonKind.DOUBLE: (JsonKind.DECIMAL_NUMBER,),
}


def promoted_node(later: JsonNode, older: JsonNode) -> JsonNode:
    """How values of an older version are read: by the later one, with the properties that only the older has.

    Raises:
        EvolutionError: the later version does not take all of them.
    """
    found = _promoted(later, older)
    if found is None:
        raise EvolutionError(f"The later version has {later.kind} where the older one has {older.kind}.")
    return found


def _promoted(later: JsonNode, older: JsonNode) -> JsonNode | None:
    nullable = later.nullable or older.nullable
    if later.kind is JsonKind.ANY:
        return replace(later, nullable=nullable)
    if later.kind is JsonKind.UNION:
        return _of_union(later, older)
    if later.kind is not older.kind:
        return replace(later, nullable=nullable) if later.kind in _WIDER.get(older.kind, ()) else None
    if later.kind is JsonKind.OBJECT:
        return _object(later, older)
    if later.key != older.key:
        return None
    if later.inner is not None and older.inner is not None:
        inner = _promoted(later.inner, older.inner)
        return inner and replace(later, inner=inner, nullable=nullable)
    return replace(later, nullable=nullable) if later.decimal == older.decimal else None


def _object(later: JsonNode, older: JsonNode) -> JsonNode | None:
    before = {each.name: each for each in older.properties}
    properties = []
    for each in later.properties:
        own = before.pop(each.name, None)
        node = each.node if own is None else _promoted(each.node, own.node)
        if node is None:
            return None
        required = own is not None and own.required and each.required
        properties.append(replace(each, node=node, required=required))
    nullable = later.nullable or older.nullable
    return replace(later, properties=(*properties, *before.values()), nullable=nullable)


def _of_union(later: JsonNode, older: JsonNode) -> JsonNode | None:
    """The union, if each kind of the older values is one of its alternatives."""
    properties: list[Property] = list(later.properties)
    kinds = [each.node for each in older.properties] if older.kind is JsonKind.UNION else [older]
    for kind in kinds:
        for number, each in enumerate(properties):
            if (node := _promoted(each.node, kind)) is not None:
                properties[number] = replace(each, node=node)
                break
        else:
            return None
    return replace(later, properties=tuple(properties), nullable=later.nullable or older.nullable)
