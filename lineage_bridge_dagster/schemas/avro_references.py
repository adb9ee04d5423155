"""An Avro schema with references -> a self-contained one, as registries resolve it. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lineage_bridge_dagster.schemas.errors import SchemaError

#: Where a schema stands within another one.
_INNER = ("type", "items", "values", "fields")
_NAMED = ("record", "error", "enum", "fixed")


def inlined_avro(text: str, references: Sequence[tuple[str, str]]) -> str:
    """Put each type that a schema takes from its references where the schema first uses it.

    Args:
        text: The schema, as JSON.
        references: The name under which a schema is referred to -> its text, in any order. Texts define the
            types; the names are those of the registry alone.

    Raises:
        SchemaError: A text is not JSON, or they are nested too deeply.
    """
    if not references:
        return text
    scope = _References()
    try:
        for _, each in references:
            scope.define(json.loads(each), "")
        return json.dumps(scope.resolved(json.loads(text), ""), ensure_ascii=False)
    except ValueError as error:
        raise SchemaError(
            f"A schema or one that it refers to is not JSON: {error}.", hint="Correct the schema."
        ) from error
    except RecursionError:
        raise SchemaError("The schema is nested too deeply.", hint="Make it flatter.") from None


class _References:
    """The types that references define, and those that the schema has so far."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        self._placed: set[str] = set()

    def define(self, node: Any, namespace: str) -> None:
        """Learn the named types of a schema, at any depth."""
        if isinstance(node, list):
            for each in node:
                self.define(each, namespace)
        elif isinstance(node, dict):
            if node.get("type") in _NAMED and isinstance(node.get("name"), str):
                name = _full_name(node["name"], node.get("namespace", namespace))
                namespace = name.rpartition(".")[0]
                self._known.setdefault(name, {**node, "namespace": namespace})
            for key in _INNER:
                self.define(node.get(key), namespace)

    def resolved(self, node: Any, namespace: str) -> Any:
        """The same schema, with types of the references in place of their names."""
        if isinstance(node, str):
            return self._type(node, namespace)
        if isinstance(node, list):
            return [self.resolved(each, namespace) for each in node]
        if not isinstance(node, dict):
            return node
        if node.get("type") in _NAMED and isinstance(node.get("name"), str):
            name = _full_name(node["name"], node.get("namespace", namespace))
            namespace = name.rpartition(".")[0]
            self._placed.add(name)
        # A field is a node with a type, as a schema is.
        return {
            key: self.resolved(value, namespace) if key in _INNER else value for key, value in node.items()
        }

    def _type(self, name: str, namespace: str) -> Any:
        full = _full_name(name, namespace)
        full = full if full in self._known else name
        if full not in self._known or full in self._placed:
            return name
        return self.resolved(self._known[full], "")


def _full_name(name: str, namespace: str | None) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
