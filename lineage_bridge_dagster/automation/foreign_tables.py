"""The tables whose lineage belongs to other instances: a run would be refused, so none is requested."""

from __future__ import annotations

from collections.abc import Iterable

from dagster import AssetKey

from lineage_bridge_dagster.automation.cursor import Cursor
from lineage_bridge_dagster.automation.requests import short_digest

#: Hexadecimal digits that stand for a table in the cursor, which may hold thousands.
_DIGITS = 12


class ForeignTables:
    """The tables of other instances, as the sweep found them; kept in the cursor.

    Args:
        cursor: `save` changes it.
    """

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._owner_of = {
            text[start : start + _DIGITS]: owner
            for owner, text in cursor.foreign.items()
            for start in range(0, len(text), _DIGITS)
        }

    def __bool__(self) -> bool:
        return bool(self._owner_of)

    def __contains__(self, key: AssetKey) -> bool:
        return bool(self._owner_of) and _name(key) in self._owner_of

    @property
    def owners(self) -> list[str]:
        return sorted(set(self._owner_of.values()))

    def add(self, key: AssetKey, owner: str) -> None:
        self._owner_of[_name(key)] = owner

    def remove(self, key: AssetKey) -> bool:
        """Returns whether the table belonged to another instance."""
        return key in self and bool(self._owner_of.pop(_name(key)))

    def keep(self, keys: Iterable[AssetKey]) -> None:
        """Forget all tables but these."""
        if self._owner_of:
            names = {_name(key) for key in keys}
            self._owner_of = {name: owner for name, owner in self._owner_of.items() if name in names}

    def save(self) -> None:
        tables: dict[str, list[str]] = {}
        for name, owner in self._owner_of.items():
            tables.setdefault(owner, []).append(name)
        self._cursor.foreign = {owner: "".join(names) for owner, names in tables.items()}


def _name(key: AssetKey) -> str:
    return short_digest(key.to_user_string())
