"""Whose lineage a table carries, and what a push says about one that another instance wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from lineage_bridge_dagster.lineage.documents import KEY_LAST_SYNCED, KEY_OWNER, DocumentOptions


class PushOptions(DocumentOptions, Protocol):
    """What is written, by which instance, whether it takes over the tables of others, and the largest request
    to Glue.
    """

    @property
    def owner(self) -> str: ...
    @property
    def take_over(self) -> bool: ...
    @property
    def max_request_bytes(self) -> int: ...


class ForeignOwner(NamedTuple):
    """Why a table of another instance is refused, and what to do."""

    reason: str
    hint: str


def other_owner(current: Mapping[str, str], options: PushOptions) -> str:
    """The other instance that the lineage of these parameters belongs to; empty if it is ours or nobody's."""
    owner = current.get(KEY_OWNER, "")
    return owner if owner != options.owner else ""


def foreign_owner(owner: str, current: Mapping[str, str]) -> ForeignOwner:
    """The refusal of a table that belongs to this instance.

    Args:
        current: The table's parameters or properties, which tell when it wrote last.
    """
    synced = current.get(KEY_LAST_SYNCED, "")
    when = f", last written at {synced}" if synced else ""
    return ForeignOwner(
        f"its lineage belongs to another instance, {owner}{when}",
        f"Let only one instance push to a table. To take it over, set push.take_over or pass --take-over; to "
        f"push as that instance, set LINEAGE_BRIDGE_PUSH_OWNER={owner}.",
    )
