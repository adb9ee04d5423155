"""What shows that Tableflow writes an Iceberg table: where its files are."""

from __future__ import annotations

import re

#: `.../{environment}/{cluster}/v1/{table id}`, the end of a TableflowTopic's `table_path` in the OpenAPI
#: document of `tableflow/v1`.
_LOCATION = re.compile(r"[a-z0-9]+://.+/env-[^/]+/lkc-[^/]+/v\d+/[^/]+/?")


def is_tableflow_location(location: str) -> bool:
    """Whether a table's files are where Tableflow keeps those of a topic.

    >>> is_tableflow_location("s3://bucket/10011010/11101100/org-1/env-2/lkc-3/v1/tableId")
    True
    >>> is_tableflow_location("s3://bucket/warehouse/lkc-3.db/orders")
    False
    """
    return bool(_LOCATION.fullmatch(location))
