"""A link within the Dagster UI, from the root of the host that shows it."""

from __future__ import annotations

from urllib.parse import quote

from dagster import AssetKey

#: Steps of the lineage tab that take in any chain; the tab itself stops at the last there is.
_DEPTH = 99


def lineage_url(key: AssetKey) -> str:
    """The asset's own lineage tab with all that is upstream of it, unfolded."""
    path = "/".join(quote(part, safe="") for part in key.path)
    return f"/assets/{path}?view=lineage&lineageScope=upstream&lineageDepth={_DEPTH}"
