"""Lineages of texts that were parsed before, so that an unchanged text is not parsed again. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.sql.statement import (
    SessionChange,
    Sink,
    Statement,
    TableChange,
    TablePath,
    TextLineage,
    ViewChange,
)

VERSION = "flink-sql-parser 2.2.0 / 3"
"""What a cached lineage depends on besides the text. Raise the last number when the rules in `flink/`
change."""


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
        if entry is None:
            return None
        try:
            lineage = TextLineage.of([_statement(s) for s in entry])
        except (TypeError, KeyError, ValueError, AttributeError):
            return None
        self._used[key] = entry
        return lineage

    def put(self, text: str, lineage: TextLineage) -> None:
        """Store a lineage, unless it has an error: its cause may be this machine rather than the text."""
        if lineage.error is None:
            self._used[_key(text)] = [_json(s) for s in lineage.statements]

    def to_json(self) -> dict[str, Any]:
        """The entries used, for the next cache to start from."""
        return {"version": VERSION, "entries": dict(self._used)}


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-16-le", "surrogatepass")).hexdigest()


def _json(statement: Statement) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": statement.kind}
    for name in ("reads", "writes", "searches"):
        paths = getattr(statement, name)
        if paths:
            entry[name] = [list(path) for path in paths]
    if statement.view is not None:
        view = statement.view
        entry["view"] = {
            "action": view.action,
            "path": list(view.path),
            "reads": [list(path) for path in view.reads],
            "temporary": view.temporary,
            "if_not_exists": view.if_not_exists,
            "new_path": list(view.new_path),
        }
    if statement.table is not None:
        table = statement.table
        options = [list(option) for option in table.options]
        entry["table"] = [table.action, list(table.path), options, table.if_not_exists, list(table.base)]
    if statement.session is not None:
        entry["session"] = [statement.session.catalog, statement.session.database]
    if statement.parts:
        entry["parts"] = [[list(part.path), [list(path) for path in part.reads]] for part in statement.parts]
    return entry


def _statement(entry: Mapping[str, Any]) -> Statement:
    view = entry.get("view")
    session = entry.get("session")
    return Statement(
        reads=_paths(entry.get("reads", ())),
        writes=_paths(entry.get("writes", ())),
        kind=entry["kind"],
        searches=_paths(entry.get("searches", ())),
        view=None
        if view is None
        else ViewChange(
            action=view["action"],
            path=tuple(view["path"]),
            reads=_paths(view["reads"]),
            temporary=view["temporary"],
            if_not_exists=view["if_not_exists"],
            new_path=tuple(view["new_path"]),
        ),
        table=_table(*entry["table"]) if "table" in entry else None,
        session=None if session is None else SessionChange(*session),
        parts=tuple(Sink(tuple(path), _paths(reads)) for path, reads in entry.get("parts", ())),
    )


def _paths(paths: Any) -> tuple[TablePath, ...]:
    return tuple(tuple(path) for path in paths)


def _table(action: Any, path: Any, options: Any, if_not_exists: bool, base: Any) -> TableChange:
    kept = tuple((str(key), str(value)) for key, value in options)
    return TableChange(action, tuple(path), kept, if_not_exists, tuple(base))
