"""Which environments and clusters the settings name. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from lineage_bridge_dagster.errors import ConfigurationError


class Named(Protocol):
    """What has an id and a name."""

    @property
    def id(self) -> str: ...

    @property
    def label(self) -> str: ...


N = TypeVar("N", bound=Named)


def chosen(items: Sequence[N], wanted: Iterable[str]) -> list[N]:
    """The items that are named by id or name; all of them when nothing is."""
    names = set(wanted)
    return [item for item in items if not names or item.id in names or item.label in names]


def require_known(what: str, variable: str, items: Sequence[Named], wanted: Iterable[str]) -> None:
    """Refuse names that nothing has. Only to be asked of a whole list.

    Raises:
        ConfigurationError: a name is unknown; the message lists those that exist.
    """
    known = {name for item in items for name in (item.id, item.label)}
    unknown = [name for name in wanted if name not in known]
    if not unknown:
        return
    there = ", ".join(
        item.id if item.label == item.id else f"{item.id} ({item.label})"
        for item in sorted(items, key=lambda item: item.id)
    )
    raise ConfigurationError(
        f"There is no {what} {', '.join(repr(name) for name in unknown)}.",
        hint=f"The key may see: {there or 'none'}. Correct {variable}.",
    )
