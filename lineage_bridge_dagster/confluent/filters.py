"""Selection of environments and clusters by the settings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from lineage_bridge_dagster.errors import ConfigurationError


class Named(Protocol):
    """Anything with an id and a display name."""

    @property
    def id(self) -> str: ...

    @property
    def label(self) -> str: ...


N = TypeVar("N", bound=Named)


def select(items: Sequence[N], wanted: Iterable[str]) -> list[N]:
    """Select items by id or name; all of them if no names are given."""
    names = set(wanted)
    return [item for item in items if not names or item.id in names or item.label in names]


def require_known(kind: str, variable: str, items: Sequence[Named], wanted: Iterable[str]) -> None:
    """Check that every name exists. Call it only with a complete list of items.

    Raises:
        ConfigurationError: a name is unknown; the message lists the existing ones.
    """
    known = {name for item in items for name in (item.id, item.label)}
    unknown = [name for name in wanted if name not in known]
    if not unknown:
        return
    existing = ", ".join(
        item.id if item.label == item.id else f"{item.id} ({item.label})"
        for item in sorted(items, key=lambda item: item.id)
    )
    raise ConfigurationError(
        f"There is no {kind} {', '.join(repr(name) for name in unknown)}.",
        hint=f"The key may see: {existing or 'none'}. Correct {variable}.",
    )
