"""Masking secrets in texts, SQL and configurations before they reach state, logs or Glue.

Every function accepts any text, never raises, is idempotent, and takes time linear in the text's length: the
expressions are possessive or bounded, so that no text causes long backtracking. `secret_keys` recognizes
keys, `secret_values` values, `secret_texts` the two together; `sql_literals` reads SQL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lineage_bridge_dagster.json_text import json_value
from lineage_bridge_dagster.redaction.keys import is_secret_key
from lineage_bridge_dagster.redaction.sql_literals import redact_sql
from lineage_bridge_dagster.redaction.texts import redact_text
from lineage_bridge_dagster.redaction.values import MASK, is_harmless, masked_values

__all__ = ["MASK", "redact_config", "redact_key", "redact_sql", "redact_text", "redact_value"]

#: Debezium has the salt of its hashes in the name of a setting.
_SALT = re.compile(r"(?<=\.with\.salt\.).+", re.DOTALL)


#: Last words of settings that map or list names of topics, tables and columns, as in `passwords:PASSWORDS`.
_NAMES = re.compile(r"(?i)(?:map|renames|(?:include|exclude|white|black)[._-]?list)$")


def redact_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Mask the secrets of a configuration, also nested ones; masked values and references are kept."""
    return {redact_key(str(key)): redact_value(str(key), value) for key, value in config.items()}


def redact_key(key: str) -> str:
    """Mask a secret in the key of a setting."""
    return _SALT.sub(MASK, key)


def redact_value(key: str, value: Any) -> Any:
    """Mask a value of a configuration: all of it if the key is a secret's, else the secrets in it."""
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, str | int):
        if isinstance(value, Mapping):
            return redact_config(value)
        if isinstance(value, list | tuple):
            return [redact_value(key, item) for item in value]
    if is_secret_key(key):
        return value if is_harmless(str(value)) else MASK
    if not isinstance(value, str):
        return value
    return masked_values(value) if _holds_names(key) else redact_text(value)


@lru_cache(maxsize=8192)
def _holds_names(key: str) -> bool:
    return _NAMES.search(key) is not None and "header" not in key


#: What people write for people. It decides on nothing, and is left out.
_PROSE = frozenset({"$comment", "description", "doc"})
#: Values of the field that a schema describes.
_FIELD_VALUES = frozenset({"const", "default", "examples"})
#: A text, or a comment, of Protobuf.
_PROTOBUF = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')|//[^\n]*+|/\*.*?\*/""", re.DOTALL
)
#: As registries spell JSON.
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def redact_schema(text: str) -> str:
    """Mask the secrets of a schema, and leave out its documentation. What decides on columns stays as it is.

    A text that is not JSON is read as Protobuf.
    """
    try:
        document = json_value(text)
    except ValueError:
        return _PROTOBUF.sub(_redacted_text, text)
    try:
        return _COMPACT.encode(_redacted(document, ""))
    except RecursionError:
        return MASK


def _redacted(node: Any, name: str) -> Any:
    """A node of a schema of the field of a name, or a value of such a field."""
    kind = type(node)
    if kind is str:
        return redact_text(node)
    if kind is list:
        return [_redacted(each, name) for each in node]
    if kind is not dict:
        return node
    own = node["name"] if isinstance(node.get("name"), str) else name
    return {
        key: MASK
        if key in _FIELD_VALUES and isinstance(value, str) and value and is_secret_key(own)
        else _redacted(value, key if isinstance(value, dict) else own)
        for key, value in node.items()
        if not (key in _PROSE and isinstance(value, str))
    }


def _redacted_text(match: re.Match[str]) -> str:
    text = match["text"]
    if text is None:
        return " "
    return f"{text[0]}{redact_text(text[1:-1])}{text[-1]}"
