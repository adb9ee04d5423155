"""Masking secrets in the texts of schemas, which stay schemas: Avro and JSON Schema as JSON, and Protobuf."""

from __future__ import annotations

import json
import re
from typing import Any

from lineage_bridge_dagster.redaction.keys import is_secret_key
from lineage_bridge_dagster.redaction.texts import redact_text
from lineage_bridge_dagster.redaction.values import MASK

#: What people write for people. It decides on nothing, and is left out.
_PROSE = frozenset({"$comment", "description", "doc"})
#: Values of the field that a schema describes.
_VALUES = frozenset({"const", "default", "examples"})
#: A text, or a comment, of Protobuf.
_PROTOBUF = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')|//[^\n]*+|/\*.*?\*/""", re.DOTALL
)


def redact_schema(text: str) -> str:
    """Mask the secrets of a schema, and leave out its documentation. What decides on columns stays as it is.

    A text that is not JSON is read as Protobuf.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _PROTOBUF.sub(_redacted_text, text)
    try:
        return json.dumps(_redacted(document, ""), ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return MASK


def _redacted(node: Any, name: str) -> Any:
    """A node of a schema of the field of a name, or a value of such a field."""
    if isinstance(node, str):
        return redact_text(node)
    if isinstance(node, list):
        return [_redacted(each, name) for each in node]
    if not isinstance(node, dict):
        return node
    own = node["name"] if isinstance(node.get("name"), str) else name
    return {
        key: MASK
        if key in _VALUES and isinstance(value, str) and value and is_secret_key(own)
        else _redacted(value, key if isinstance(value, dict) else own)
        for key, value in node.items()
        if not (key in _PROSE and isinstance(value, str))
    }


def _redacted_text(match: re.Match[str]) -> str:
    text = match["text"]
    if text is None:
        return " "
    return f"{text[0]}{redact_text(text[1:-1])}{text[-1]}"
