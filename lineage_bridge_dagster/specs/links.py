"""Links to assets in the UI, relative to its root."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from dagster import AssetKey

#: Levels that the UI's lineage tab unfolds: more than any chain has.
_DEPTH = 99


def asset_url(key: AssetKey) -> str:
    """The asset's page."""
    return "/assets/" + "/".join(quote(part, safe="") for part in key.path)


def lineage_url(key: AssetKey, scope: Literal["upstream", "downstream"] = "upstream") -> str:
    """The asset's lineage tab with everything upstream or downstream unfolded."""
    return f"{asset_url(key)}?view=lineage&lineageScope={scope}&lineageDepth={_DEPTH}"
