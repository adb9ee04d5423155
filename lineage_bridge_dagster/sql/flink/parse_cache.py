"""Lineages of texts that were parsed before, so that an unchanged text is not parsed again. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from lineage_bridge_dagster.sql.statement import SqlStatement, TextLineage

VERSION = "flink-sql-parser 2.2.0 / 5"
"""What a cached lineage depends on besides the text. Raise the last number when the rules in `flink/`
change."""

_STATEMENTS = TypeAdapter(tuple[SqlStatement, ...])


class ParseCache:
    """Lineages by text and parser version, saved as JSON.

    It stores digests and table names, never a text. `to_json` returns only the entries used since the cache
    was loaded, so that a state does not grow with statements that no longer exist.

    Args:
        saved: The result of an earlier `to_json`. One of another version, or of another shape, counts as
            empty.
    """

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        saved = saved or {}
        entries = saved.get("entries") if saved.get("version") == VERSION else None
        self._saved: dict[str, Any] = dict(entries) if isinstance(entries, Mapping) else {}
        self._used: dict[str, Any] = {}

    def get(self, text: str) -> TextLineage | None:
        """The lineage of a text that was parsed before, else None."""
        key = _key(text)
        entry = self._used.get(key) or self._saved.get(key)
        try:
            statements = _STATEMENTS.validate_python(entry)
        except ValueError:
            return None
        if not all(statement.kind for statement in statements):
            return None
        self._used[key] = entry
        return TextLineage.of(statements)

    def put(self, text: str, lineage: TextLineage) -> None:
        """Store a lineage, unless it has an error: its cause may be this machine rather than the text."""
        if lineage.error is None:
            self._used[_key(text)] = _STATEMENTS.dump_python(
                lineage.statements, mode="json", exclude_defaults=True
            )

    def to_json(self) -> dict[str, Any]:
        """The entries used, for the next cache to start from."""
        return {"version": VERSION, "entries": dict(self._used)}


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-16-le", "surrogatepass")).hexdigest()
