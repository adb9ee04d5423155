"""The forms that lineage becomes: their types, and their contents from and to parameters. Pure.

A push compares and writes the parameters of a table (`lineage.documents`), so the forms of an asset are read
as such: a member of the table's form is `lineage_bridge.{member}`, and the form of a column is the value of
`lineage_bridge.column.{column}`.

Glue documents the schema of a form type as a Smithy structure whose members are strings and integers, so
lists are text here: names with commas between them, or JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from lineage_bridge_dagster.json_text import json_of
from lineage_bridge_dagster.lineage.columns import ColumnFlow, ColumnIndex
from lineage_bridge_dagster.lineage.documents import (
    KEY_CLUSTER_ID,
    KEY_DIGEST,
    KEY_ENVIRONMENT_ID,
    KEY_LAST_SYNCED,
    KEY_OWNER,
    KEY_PIPELINE_TYPE,
    KEY_SOURCE_CONNECTORS,
    KEY_SOURCE_TOPICS,
    KEY_UPSTREAM_CHAIN,
    KEY_UPSTREAM_TRUNCATED,
    PREFIX,
)
from lineage_bridge_dagster.lineage.model import Graph

#: Marks our forms: a form of the same name and type without it is somebody else's.
MARK = {"managedBy": "lineage_bridge_dagster"}
#: Before the name of a column.
COLUMN = PREFIX + "column."

_MEMBER = re.compile(r"(\w+)\s*:\s*(\w+)")
_WORD = re.compile(r"_([a-z])")
_CAPITAL = re.compile(r"([A-Z])")


class FormType(NamedTuple):
    """A type of form, whose members are all strings. Its name is that of the attachment, too."""

    name: str
    members: tuple[str, ...]

    @property
    def schema(self) -> str:
        """In Smithy's IDL, as PutFormType takes it."""
        lines = "".join(f"    {member}: String\n" for member in (*MARK, *self.members))
        return f"structure {self.name} {{\n{lines}}}"

    def is_declared_by(self, schema: str) -> bool:
        """Whether a schema has all of these members, however it is laid out."""
        return set(_MEMBER.findall(self.schema)) <= set(_MEMBER.findall(schema))

    @staticmethod
    def is_ours(schema: str) -> bool:
        """Whether a schema has our mark."""
        return any(member in MARK for member, _ in _MEMBER.findall(schema))


def _member(key: str) -> str:
    return _WORD.sub(lambda found: found[1].upper(), key.removeprefix(PREFIX))


def _key(member: str) -> str:
    return PREFIX + _CAPITAL.sub(lambda found: f"_{found[1].lower()}", member)


TABLE_FORM = FormType(
    "LineageBridgeLineage",
    tuple(
        map(
            _member,
            (
                KEY_SOURCE_TOPICS,
                KEY_SOURCE_CONNECTORS,
                KEY_UPSTREAM_CHAIN,
                KEY_UPSTREAM_TRUNCATED,
                KEY_PIPELINE_TYPE,
                KEY_ENVIRONMENT_ID,
                KEY_CLUSTER_ID,
                KEY_OWNER,
                KEY_DIGEST,
                KEY_LAST_SYNCED,
            ),
        )
    ),
)
COLUMN_FORM = FormType(
    "LineageBridgeColumn", ("sourceTopic", "sourceField", "upstreamColumns", "upstreamUnknown")
)
FORM_TYPES = (TABLE_FORM, COLUMN_FORM)


def table_content(parameters: Mapping[str, str]) -> str:
    """The content of the table's form."""
    members = {_member(key): value for key, value in parameters.items() if not key.startswith(COLUMN)}
    return _text({**MARK, **members})


def column_content(parameter: str) -> str:
    """The content of a column's form, from its parameter."""
    return _text({**MARK, **json.loads(parameter)})


def is_ours(content: str) -> bool:
    """Whether a form has our mark."""
    return _members(content).items() >= MARK.items()


def table_parameters(content: str) -> dict[str, str]:
    """The parameters in the content of a table's form."""
    return {_key(name): str(value) for name, value in _members(content).items() if name not in MARK}


def column_parameter(content: str) -> str:
    """The parameter of a column from the content of its form."""
    return _text({name: value for name, value in _members(content).items() if name not in MARK})


def origins(graph: Graph, columns: ColumnIndex, flows: Iterable[ColumnFlow]) -> dict[str, str]:
    """Where the columns of a table come from, as parameters: the topic's field, and what is upstream."""
    found = {}
    for flow in flows:
        for source, _ in flow.sources[:1]:
            above = columns.topic(source.node_id).get(source.name)
            upstream = [each for each in columns.origins(flow) if each != source]
            content = {
                "sourceTopic": graph.nodes[source.node_id].qualified_name,
                "sourceField": source.name,
                "upstreamColumns": _text(
                    [
                        {"dataset": graph.nodes[each.node_id].qualified_name, "column": each.name}
                        for each in upstream
                        if each.node_id in graph
                    ]
                )
                if upstream
                else "",
                "upstreamUnknown": "" if above is None or above.complete else above.reason or "true",
            }
            found[COLUMN + flow.column.name] = _text({key: text for key, text in content.items() if text})
    return found


def _members(content: str) -> dict[str, Any]:
    return json_of(content, dict) or {}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
