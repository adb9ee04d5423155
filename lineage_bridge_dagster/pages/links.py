"""Links within the Dagster UI, from the root of the host that shows them."""

from __future__ import annotations

from urllib.parse import quote

from dagster import AssetKey

#: Steps of the lineage tab that take in any chain; the tab itself stops at the last there is.
_DEPTH = 99


def lineage_url(key: AssetKey, scope: str = "upstream") -> str:
    """The asset's own lineage tab with all that is upstream of it, unfolded.

    `scope` is `upstream`, `downstream` or `neighbors`.
    """
    path = "/".join(quote(part, safe="") for part in key.path)
    return f"/assets/{path}?view=lineage&lineageScope={scope}&lineageDepth={_DEPTH}"


def graph_url(selection: str) -> str:
    """The asset graph of a selection, such as `+key:"glue/sales/orders.v1"`."""
    return f"/asset-groups~{quote(selection, safe='')}"
