"""A Glue with very many tables in several regions, which renders each page when it is asked for.

It holds no tables, so that its memory does not grow with them: a table is its number, and a page a template
with the numbers filled in. It lists, and does nothing else.
"""

from __future__ import annotations

import base64
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster_tests.catalogs.glue.light_glue import ACCOUNT, PAGE_SIZE, Limit

#: The time of the last change of each table that no `change` changed: in 2020.
_CHANGED_AT = 1_600_000_000
_NAME, _UPDATED = "t@@name@@", 9_999_999_999
#: One table of this many is an Athena view, and one column of this many has a comment of the table's own.
_VIEW_EVERY, _OWN_COMMENT_EVERY = 50, 5


@dataclass
class InventoryTraffic:
    """The calls that were served, by region and operation, and how many were refused besides."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: int = 0


class InventoryGlue:
    """Tables `t000000`, `t000001`, ... of each region. Thread-safe.

    Half of a region's tables are in its first database, half of the rest in the next, and so on: the pages of
    one database can only be read one after the other.

    Args:
        tables: In all regions together.
        columns: Of each table.
        latency: Seconds from a request to its response.
        rate: Calls a second that a region takes; None for no limit.
    """

    def __init__(
        self, tables: int, columns: int, regions: list[str], latency: float = 0.0, rate: float | None = None
    ) -> None:
        self._latency = latency
        self._lock = threading.Lock()
        self._limits = {region: Limit(rate) for region in regions}
        self._traffic = InventoryTraffic()
        self._databases = _databases(tables // len(regions))
        self._changed: dict[tuple[str, int], float] = {}
        self._dropped: set[tuple[str, int]] = set()
        self._table = _template(_table(columns))
        self._view = _template(_view(columns))
        self._all = [(region, number) for region in regions for number in range(tables // len(regions))]

    def change(self, count: int) -> None:
        """Change this many tables, now, and none of those that are dropped."""
        self._changed = dict.fromkeys(self._some(count), time.time())

    def drop(self, count: int) -> None:
        """Drop this many tables, and none of those that changed."""
        self._dropped = set(self._some(count))

    def traffic(self) -> InventoryTraffic:
        """The calls since the last time that this was asked."""
        with self._lock:
            traffic, self._traffic = self._traffic, InventoryTraffic()
        return traffic

    def _some(self, count: int) -> list[tuple[str, int]]:
        """This many tables over all regions, the same ones each time."""
        left = [each for each in self._all if each not in self._dropped and each not in self._changed]
        return random.Random(0).sample(left, count)  # noqa: S311 - a sample, no secret

    def answer(self, region: str, operation: str, body: bytes) -> tuple[int, bytes]:
        """Handle a request: the HTTP status and the body of its response, after the latency."""
        with self._lock:
            served = self._limits[region].serves()
            self._traffic.calls[region, operation] += served
            self._traffic.refused += not served
        if not served:
            content = json.dumps({"__type": "ThrottlingException", "message": "Rate exceeded"}).encode()
        elif operation == "GetDatabases":
            listed = [{"Name": name, "CatalogId": ACCOUNT} for name in self._databases]
            content = json.dumps({"DatabaseList": listed}).encode()
        else:
            content = self._tables(region, json.loads(body))
        time.sleep(self._latency)
        return 200 if served else 400, content

    def _tables(self, region: str, request: dict[str, Any]) -> bytes:
        numbers = self._databases[request["DatabaseName"]]
        size = request.get("MaxResults", PAGE_SIZE)
        start = int(request.get("NextToken") or numbers.start)
        page = range(start, min(start + size, numbers.stop))
        tables = b",".join(
            self._rendered(region, number, request["DatabaseName"])
            for number in page
            if (region, number) not in self._dropped
        )
        token = f'"NextToken":"{page.stop}",' if page.stop < numbers.stop else ""
        return b"{" + token.encode() + b'"TableList":[' + tables + b"]}"

    def _rendered(self, region: str, number: int, database: str) -> bytes:
        template = self._table if number % _VIEW_EVERY else self._view
        updated = self._changed.get((region, number), _CHANGED_AT)
        name = f"t{number:06d}".encode()
        rendered = template.replace(_NAME.encode(), name).replace(b"@@database@@", database.encode())
        return rendered.replace(str(_UPDATED).encode(), f"{updated:.3f}".encode())


def _databases(tables: int) -> dict[str, range]:
    """The numbers of the tables of each database, the last of which is empty."""
    databases: dict[str, range] = {}
    start = 0
    while start < tables:
        size = max(1, min(tables - start, (tables - start + 1) // 2 if len(databases) < 19 else tables))
        databases[f"db_{len(databases):02d}"] = range(start, start + size)
        start += size
    databases["db_empty"] = range(start, start)
    return databases


def _template(table: dict[str, Any]) -> bytes:
    return json.dumps(table, separators=(",", ":")).encode()


def _table(columns: int) -> dict[str, Any]:
    """A `Table` of Glue's API: a table of Parquet files as a crawler leaves it."""
    return {
        "Name": _NAME,
        "DatabaseName": "@@database@@",
        "Description": f"Kept by the team of {_NAME}.",
        "Owner": "hadoop",
        "CatalogId": ACCOUNT,
        "VersionId": "7",
        "CreateTime": _CHANGED_AT,
        "UpdateTime": _UPDATED,
        "CreatedBy": f"arn:aws:sts::{ACCOUNT}:assumed-role/crawler/session",
        "IsRegisteredWithLakeFormation": False,
        "Retention": 0,
        "TableType": "EXTERNAL_TABLE",
        "PartitionKeys": [{"Name": "day", "Type": "date"}],
        "Parameters": {"classification": "parquet", "recordCount": "1000", "note": f"of {_NAME}"},
        "StorageDescriptor": {
            "Location": f"s3://acme-lake/@@database@@/{_NAME}",
            "Columns": [_column(number) for number in range(columns - 1)],
            "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
            "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
            "SerdeInfo": {
                "SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
                "Parameters": {"serialization.format": "1"},
            },
        },
    }


def _column(number: int) -> dict[str, Any]:
    comment = f"Field {number} of the record"
    own = number % _OWN_COMMENT_EVERY == 0
    return {
        "Name": f"field_{number}",
        "Type": ("bigint", "string", "decimal(18,2)", "timestamp")[number % 4],
        "Comment": f"{comment} of {_NAME}" if own else comment,
    }


def _view(columns: int) -> dict[str, Any]:
    """A view as Athena creates it; all have one query, as their text is Base64."""
    query = "SELECT o.*, c.name FROM orders o JOIN customers c ON o.c = c.id WHERE o.country = 'CH'"
    document = json.dumps({"originalSql": query, "catalog": "awsdatacatalog", "schema": "db_00"})
    text = base64.b64encode(document.encode()).decode()
    view = _table(columns)
    return {
        **view,
        "TableType": "VIRTUAL_VIEW",
        "PartitionKeys": [],
        "Parameters": {"presto_view": "true", "comment": "Presto View"},
        "StorageDescriptor": {"Columns": [_column(number) for number in range(columns)]},
        "ViewOriginalText": f"/* Presto View: {text} */",
        "ViewExpandedText": "/* Presto View */",
    }
