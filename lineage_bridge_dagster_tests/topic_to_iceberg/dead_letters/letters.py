"""Dead letters for tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetter

AT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


def letter(offset: int = 7, **fields: Any) -> DeadLetter:
    """A record of `orders.v1` with a schema id that nobody knows."""
    defaults: dict[str, Any] = {
        "topic": "orders.v1",
        "partition": 1,
        "timestamp": AT,
        "timestamp_type": "CREATE_TIME",
        "headers": (("trace", b"a"), ("trace", None)),
        "key": b"k",
        "value": b"\x00\x00\x00\x00\x09v",
        "error": "schema id 9 is not of subject orders.v1-value",
        "value_schema_id": 9,
        "topic_id": "SpVHS7MYT8aw1cF20FE",
    }
    return DeadLetter(offset=offset, **{**defaults, **fields})
