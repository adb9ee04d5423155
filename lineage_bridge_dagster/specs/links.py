"""Links to assets in the UI, relative to its root."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import quote

from dagster import AssetKey

#: Levels that the UI's lineage tab unfolds: more than any chain has.
_DEPTH = 99

#: A part of a key that stands in a URL as it is; most do, and every load makes tens of thousands of links.
_UNQUOTED = re.compile(r"[A-Za-z0-9_.~-]*")


def asset_url(key: AssetKey) -> str:
    """The asset's page."""
    parts = [part if _UNQUOTED.fullmatch(part) else quote(part, safe="") for part in key.path]
    return "/assets/" + "/".join(parts)


def lineage_url(key: AssetKey, scope: Literal["upstream", "downstream"] = "upstream") -> str:
    """The asset's lineage tab with everything upstream or downstream unfolded."""
    return f"{asset_url(key)}?view=lineage&lineageScope={scope}&lineageDepth={_DEPTH}"
