"""The size of an `UpdateTable` request, which Glue limits as a whole.

Glue answers `InvalidInputException: Payload size of request exceeded limit`. AWS documents the limits of
single fields only, so the bound is a setting, `push.max_request_bytes`. Its default is 512,000 bytes, the
documented size of the largest parameter value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.lineage.documents import PREFIX, LineageDocument

#: What is in a request beside the `TableInput` (names of catalog and database, version), and our keys about
#: the push.
_ENVELOPE_BYTES = 2_048
#: The fractions of our parameters that are tried in turn. They are few and far apart, so that a new column of
#: a few bytes does not make every push write shorter lineage.
_DIVISORS = (1, 2, 4, 8, 16, 32, 64, 256)


def fitting(
    document: LineageDocument, table: Mapping[str, Any], description: str, limit: int
) -> LineageDocument | TooLarge:
    """The document with parameters that fit into a request beside what others own.

    A request may be as large as one that would write the table as it is: Glue took that.

    Args:
        table: the writable fields of the table as it is.
        limit: bytes that a request may have.
    """
    current = request_bytes(table)
    # An upper bound that is cheap, and enough for most tables.
    if current + _json_bytes(document.parameters) + _json_bytes(description) <= limit:
        return document
    foreign = {k: v for k, v in table.get("Parameters", {}).items() if not k.startswith(PREFIX)}
    others = request_bytes({**table, "Parameters": foreign, "Description": description})
    for divisor in _DIVISORS:
        shorter = document.shorter(divisor)
        size = others + _json_bytes(shorter.parameters)
        if size <= max(limit, current):
            return shorter
    return TooLarge(size, others, limit)


@dataclass(frozen=True, slots=True)
class TooLarge:
    """A request that is too large even with the shortest chain, in bytes; `others` are what others own."""

    size: int
    others: int
    limit: int

    @property
    def reason(self) -> str:
        return (
            f"the request would have {self.size:,} bytes, {self.others:,} of them the table's own columns, "
            f"parameters and description; Glue limits a request as a whole, here taken to be {self.limit:,}"
        )

    @property
    def hint(self) -> str:
        return (
            "Shorten comments and parameters of the table and its columns, or drop columns. AWS does not "
            "document the limit: if Glue takes larger requests, raise LINEAGE_BRIDGE_PUSH_MAX_REQUEST_BYTES."
        )


def request_bytes(table_input: Mapping[str, Any]) -> int:
    """The bytes of a request with this `TableInput`, in which botocore escapes what is not ASCII.

    >>> request_bytes({"Name": "\u6ce8"}) - request_bytes({"Name": ""})
    6
    """
    return _json_bytes(table_input) + _ENVELOPE_BYTES


def _json_bytes(value: object) -> int:
    return len(json.dumps(value, default=str))
