"""The Data Catalog's operations on databases and tables, as strict as Glue, on moto's records.

As in Glue, the first `VersionId` is "0" and each update increments it; an update with a stale one fails with
`ConcurrentModificationException` and the message below; names are folded to lower case; lists have pages
of at most 100 items (API reference, `GetTables`: `MaxResults` 1 to 100).
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.glue.models import FakeDatabase, FakeTable, GlueBackend, glue_backends

from lineage_bridge_dagster.embedded.aws.constraints import violations
from lineage_bridge_dagster.embedded.aws.errors import AwsError
from lineage_bridge_dagster.embedded.aws.store import Store

PAGE_SIZE = 100

#: Fields that Glue returns for a storage descriptor that was written without them.
_STORAGE_DEFAULTS: Mapping[str, Any] = {
    "Compressed": False,
    "NumberOfBuckets": 0,
    "SortColumns": [],
    "StoredAsSubDirectories": False,
}

Json = dict[str, Any]


class StrictGlue:
    """One account's catalogs, one per region. Every change is stored before it is acknowledged."""

    def __init__(self, account_id: str, store: Store) -> None:
        self.lock = threading.RLock()
        self._account_id = account_id
        self._store = store
        self._operations: dict[str, Callable[[GlueBackend, Json], Json]] = {
            "CreateDatabase": self._create_database,
            "GetDatabase": self._get_database,
            "GetDatabases": self._get_databases,
            "UpdateDatabase": self._update_database,
            "DeleteDatabase": self._delete_database,
            "CreateTable": self._create_table,
            "GetTable": self._get_table,
            "GetTables": self._get_tables,
            "UpdateTable": self._update_table,
            "DeleteTable": self._delete_table,
            "BatchGetTableOptimizer": self._batch_get_table_optimizer,
            "GetTableVersions": self._get_table_versions,
        }

    def implements(self, operation: str) -> bool:
        """Whether the operation is implemented here rather than by moto."""
        return operation in self._operations

    def call(self, region: str, operation: str, request: Json) -> Json:
        """Execute an operation.

        Raises:
            AwsError: Glue would reject the request.
        """
        errors = violations(operation, request)
        if errors:
            plural = "s" if len(errors) > 1 else ""
            raise AwsError(
                "ValidationException", f"{len(errors)} validation error{plural} detected: {'; '.join(errors)}"
            )
        with self.lock:
            try:
                return self._operations[operation](self._backend(region), _folded(request))
            except JsonRESTError as error:
                raise AwsError(error.error_type, error.message) from error

    def restore(self) -> None:
        """Restore databases and tables from the store."""
        for region, name, database_input, created in self._store.rows("databases"):
            database = FakeDatabase(name, json.loads(database_input), catalog_id=self._account_id)
            database.created_time = datetime.fromisoformat(created)
            self._backend(region).databases[name] = database
        for region, database_name, name, stored in self._store.rows("tables"):
            state = json.loads(stored)
            table = FakeTable(database_name, name, {}, catalog_id=self._account_id)
            table.versions = state["versions"]
            table._current_version = state["current"]
            table.created_time = datetime.fromisoformat(state["created"])
            table.updated_time = datetime.fromisoformat(state["updated"]) if state["updated"] else None
            self._backend(region).databases[database_name].tables[name] = table

    def _backend(self, region: str) -> GlueBackend:
        return glue_backends[self._account_id][region]

    # Databases

    def _create_database(self, glue: GlueBackend, request: Json) -> Json:
        database_input = request["DatabaseInput"]
        database = glue.create_database(database_input["Name"], database_input, request.get("Tags"))
        created = database.created_time.isoformat()
        self._store.put("databases", glue.region_name, database.name, database_input, created)
        return {}

    def _get_database(self, glue: GlueBackend, request: Json) -> Json:
        return {"Database": _json(glue.get_database(request["Name"]).as_dict())}

    def _get_databases(self, glue: GlueBackend, request: Json) -> Json:
        return _page(request, "DatabaseList", glue.databases, lambda name: glue.databases[name].as_dict())

    def _update_database(self, glue: GlueBackend, request: Json) -> Json:
        database_input = {**request["DatabaseInput"], "Name": request["Name"]}
        glue.update_database(request["Name"], database_input)
        created = glue.get_database(request["Name"]).created_time.isoformat()
        self._store.put("databases", glue.region_name, request["Name"], database_input, created)
        return {}

    def _delete_database(self, glue: GlueBackend, request: Json) -> Json:
        glue.delete_database(request["Name"])
        self._store.delete("tables", region=glue.region_name, database=request["Name"])
        self._store.delete("databases", region=glue.region_name, name=request["Name"])
        return {}

    # Tables

    def _create_table(self, glue: GlueBackend, request: Json) -> Json:
        table_input = request.get("TableInput")
        if table_input is None:
            raise AwsError("InvalidInputException", "The local Glue requires TableInput.")
        table = glue.create_table(
            request["DatabaseName"], table_input["Name"], table_input, request.get("OpenTableFormatInput")
        )
        table.versions = {"0": table.versions.pop("1")}
        table._current_version = 0
        table.updated_time = table.created_time
        self._persist(glue, table)
        return {}

    def _get_table(self, glue: GlueBackend, request: Json) -> Json:
        return {"Table": self._describe(glue.get_table(request["DatabaseName"], request["Name"]))}

    def _get_tables(self, glue: GlueBackend, request: Json) -> Json:
        tables = {t.name: t for t in glue.get_tables(request["DatabaseName"], request.get("Expression"))}
        return _page(request, "TableList", tables, lambda name: self._describe(tables[name]))

    def _update_table(self, glue: GlueBackend, request: Json) -> Json:
        table_input = request.get("TableInput")
        if table_input is None or "UpdateOpenTableFormatInput" in request:
            raise AwsError("InvalidInputException", "The local Glue updates a table only by TableInput.")
        table = glue.get_table(request["DatabaseName"], table_input["Name"])
        previous = str(table._current_version)
        if request.get("VersionId", previous) != previous:
            raise AwsError(
                "ConcurrentModificationException", "Update table failed due to concurrent modifications."
            )
        table.update(table_input)
        if request.get("SkipArchive"):
            table.versions.pop(previous, None)
        self._persist(glue, table)
        return {}

    def _delete_table(self, glue: GlueBackend, request: Json) -> Json:
        glue.delete_table(request["DatabaseName"], request["Name"])
        place = {"region": glue.region_name, "database": request["DatabaseName"], "name": request["Name"]}
        self._store.delete("tables", **place)
        return {}

    def _batch_get_table_optimizer(self, _glue: GlueBackend, request: Json) -> Json:
        """No table here has an optimizer."""
        missing = {"ErrorCode": "EntityNotFoundException", "ErrorMessage": "There is no optimizer."}
        return {
            "TableOptimizers": [],
            "Failures": [{**each, "error": missing} for each in request["Entries"]],
        }

    # Versions

    def _get_table_versions(self, glue: GlueBackend, request: Json) -> Json:
        table = glue.get_table(request["DatabaseName"], request["TableName"])
        newest_first = {f"{10**18 - int(version):019}": version for version in table.versions}
        return _page(
            request,
            "TableVersions",
            newest_first,
            lambda key: {
                "Table": self._describe(table, newest_first[key]),
                "VersionId": newest_first[key],
            },
        )

    def _persist(self, glue: GlueBackend, table: FakeTable) -> None:
        state = {
            "versions": table.versions,
            "current": table._current_version,
            "created": table.created_time.isoformat(),
            "updated": table.updated_time.isoformat() if table.updated_time else None,
        }
        self._store.put("tables", glue.region_name, table.database_name, table.name, state)

    def _describe(self, table: FakeTable, version: str | None = None) -> Json:
        described = table.as_dict(version)
        if storage := described.get("StorageDescriptor"):
            described["StorageDescriptor"] = {**_STORAGE_DEFAULTS, **storage}
        described.setdefault("Retention", 0)
        described.setdefault("PartitionKeys", [])
        # Read-only fields that Glue sets: code that copies a table into a TableInput must drop them.
        described |= {
            "CreatedBy": f"arn:aws:iam::{self._account_id}:user/local",
            "IsRegisteredWithLakeFormation": False,
            "IsMultiDialectView": False,
            "IsMaterializedView": False,
        }
        return _json(described)


def _folded(request: Json) -> Json:
    """Return the request with database and table names in lower case, as Glue stores them."""
    folded = dict(request)
    for field in ("DatabaseName", "TableName", "Name"):
        if isinstance(folded.get(field), str):
            folded[field] = folded[field].lower()
    for field in ("DatabaseInput", "TableInput"):
        if isinstance(folded.get(field), dict):
            folded[field] = {**folded[field], "Name": folded[field]["Name"].lower()}
    return folded


def _page(request: Json, field: str, names: Iterable[str], describe: Callable[[str], Json]) -> Json:
    """Return one page by name; its token is the page's last name, so changes between pages shift nothing."""
    after = _decode_token(request["NextToken"]) if request.get("NextToken") else ""
    remaining = sorted(name for name in names if name > after)
    size = request.get("MaxResults") or PAGE_SIZE
    page: Json = {field: [_json(describe(name)) for name in remaining[:size]]}
    if len(remaining) > size:
        page["NextToken"] = base64.urlsafe_b64encode(remaining[size - 1].encode()).decode()
    return page


def _decode_token(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token.encode()).decode()
    except (binascii.Error, ValueError) as error:
        raise AwsError("InvalidInputException", "Invalid NextToken.") from error


def _json(described: Mapping[str, Any]) -> Json:
    """Drop unset fields and convert times as Glue does: to whole seconds since 1970."""
    return {
        key: math.floor(value.timestamp()) if isinstance(value, datetime) else value
        for key, value in described.items()
        if value is not None
    }
