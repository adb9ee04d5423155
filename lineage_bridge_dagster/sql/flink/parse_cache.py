"""Texts parsed before, so that an unchanged statement is not parsed again. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.sql.statement import (
    SessionChange,
    Statement,
    StatementLineage,
    TablePath,
    ViewChange,
    aggregate,
)

VERSION = "flink-sql-parser 2.2.0 / 1"
"""What a cached answer depends on beside the text. Raise the last number when the rules of this room
change."""


class ParseCache:
    """Lineages by text and parser version; JSON in, JSON out.

    It holds digests and table names, never a text. `to_json` keeps only what was asked for since it was made,
    so that a state does not grow with statements long gone.

    Args:
        saved: What `to_json` gave before. One of another version, or no cache at all, counts as empty.
    """

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        saved = saved or {}
        entries = saved.get("entries") if saved.get("version") == VERSION else None
        self._saved: dict[str, Any] = dict(entries) if isinstance(entries, Mapping) else {}
        self._used: dict[str, Any] = {}
        self.hits = 0

    def get(self, text: str) -> StatementLineage | None:
        """The lineage of a text that was parsed before, else None."""
        key = _key(text)
        entry = self._used.get(key) or self._saved.get(key)
        if entry is None:
            return None
        try:
            lineage = aggregate([_statement(s) for s in entry])
        except (TypeError, KeyError, ValueError, AttributeError):
            return None
        self._used[key] = entry
        self.hits += 1
        return lineage

    def put(self, text: str, lineage: StatementLineage) -> None:
        """Keeps a lineage. One with an error is not kept: it may have been the machine's, not the text's."""
        if lineage.error is None:
            self._used[_key(text)] = [_json(s) for s in lineage.statements]

    def to_json(self) -> dict[str, Any]:
        """What to store, for the next one to start from."""
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
    if statement.session is not None:
        entry["session"] = [statement.session.catalog, statement.session.database]
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
        session=None if session is None else SessionChange(*session),
    )


def _paths(paths: Any) -> tuple[TablePath, ...]:
    return tuple(tuple(path) for path in paths)
