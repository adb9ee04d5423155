"""What a push says about a table whose lineage another instance wrote."""

from __future__ import annotations

from typing import NamedTuple


class ForeignOwner(NamedTuple):
    """Why a table of another instance is refused, and what to do."""

    reason: str
    hint: str


def foreign_owner(owner: str, synced: str) -> ForeignOwner:
    """The refusal of a table that belongs to this instance.

    Args:
        owner: The other instance.
        synced: When it wrote last, as ISO 8601; may be empty.
    """
    when = f", last written at {synced}" if synced else ""
    return ForeignOwner(
        f"its lineage belongs to another instance, {owner}{when}",
        f"Let only one instance push to a table. To take it over, set push.take_over or pass --take-over; to "
        f"push as that instance, set LINEAGE_BRIDGE_PUSH_OWNER={owner}.",
    )
