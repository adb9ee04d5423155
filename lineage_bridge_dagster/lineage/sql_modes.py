"""How SQL is shown: the values of the setting `push.sql`, and which settings of connectors are SQL."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.redaction.keys import is_secret_key
from lineage_bridge_dagster.redaction.redact import MASK, redact_sql
from lineage_bridge_dagster.redaction.sql_tree import is_statement

#: From most to least detail. A text as one mode shows it can be given to the same or a stricter one again.
SQL_MODES = ("full", "redacted", "hash", "none")

_HASH = re.compile(r"sha256:[0-9a-f]{64}")

#: Words at the end of a connector's settings that hold statements or queries, of SQL and languages like it.
_LANGUAGES = frozenset({"sql", "ksql", "kcql", "cql", "n1ql", "soql", "cypher", "query", "statement"})
_WORD = re.compile(r"[A-Za-z0-9]+")


def at_least_as_strict(mode: str, other: str) -> bool:
    """Whether a mode shows no more than another one.

    Raises:
        ValueError: One of them is not one of `SQL_MODES`.
    """
    return _rank(mode) >= _rank(other)


def is_parsed(node: Node) -> bool:
    """Whether the parser accepted a node's statement: only then is it known what each literal is."""
    return not node.attributes.get("parse_error")


def shown_text(text: str, mode: str, *, is_parsed: bool = True) -> str:
    """Return a text as the mode shows it, empty if it shows none; without literals if it is not parsed.

    Raises:
        ValueError: The mode is not one of `SQL_MODES`.
    """
    strictness = _rank(mode)
    if mode == "none" or not text.strip():
        return ""
    if not strictness or text == MASK or _HASH.fullmatch(text):
        return text
    return redact_sql(text, is_parsed=is_parsed) if mode == "redacted" else sql_hash(text)


def sql_hash(text: str) -> str:
    """Return `sha256:` and the hash of a text in hexadecimal; of a hash, the hash itself."""
    if _HASH.fullmatch(text):
        return text
    return "sha256:" + hashlib.sha256(clean(text).encode()).hexdigest()


def is_sql(key: str, value: object) -> bool:
    """Whether a connector's setting holds SQL: by its key (`query`, `connect.jdbc.kcql`), or by its value."""
    if not isinstance(value, str) or is_secret_key(key):
        return False
    return _names_sql(key) or is_statement(value)


@lru_cache(maxsize=8192)
def _names_sql(key: str) -> bool:
    words = [word.lower().removesuffix("s") for word in _WORD.findall(key)]
    return not _LANGUAGES.isdisjoint(words[-1:]) or words[-2:] in (["query", "suffix"], ["query", "masked"])


def _rank(mode: str) -> int:
    if mode not in SQL_MODES:
        raise ValueError(f"{mode!r} is not a way to show SQL; choose one of {', '.join(SQL_MODES)}")
    return SQL_MODES.index(mode)
