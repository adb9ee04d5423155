"""Where a table's files belong, by our own configuration. Pure.

A table's location, the paths in its metadata and its properties are written by whoever may commit to it, and
so may lead into another table's folder. What deletes files asks here first.

Catalogs place a new table in a folder of its name, below their warehouse or below the location of its
namespace: `db.db/table` (Glue, Hive, PyIceberg's own catalogs) or `db/table` (JDBC, Hadoop, most REST
servers). Some append an id, as Iceberg does with `unique-table-location`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

#: The properties that move a table's files elsewhere (`TableProperties`).
PATHS = (
    "write.data.path",
    "write.metadata.path",
    "write.object-storage.path",
    "write.folder-storage.path",
)

#: `.` or `..` in a path, by which a file system would leave the folder that the path seems to be in.
INDIRECT = r"(?:^|/)\.\.?(?:/|$)"
#: An id after a table's name: a UUID, with hyphens or without.
_ID = re.compile(r"[-_](?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE)


#: `.../{environment}/{cluster}/v1/{table id}`, the end of a TableflowTopic's `table_path` in the OpenAPI
#: document of `tableflow/v1`.
_LOCATION = re.compile(r"[a-z0-9]+://.+/env-[^/]+/lkc-[^/]+/v\d+/[^/]+/?")


@dataclass(frozen=True, slots=True)
class OwnFolders:
    """The folders in which a table's files belong.

    Attributes:
        location: that our own configuration names for this table; empty if it names none.
        paths: the folders that it names for files of this table alone, or of several.
        warehouse: the catalog's warehouse; empty if unknown, as where a REST server has a name for it.
        namespace: the location of the namespace; empty if it has none.
        uuid: the table's own, which some REST servers name its folder by; empty if unknown.
    """

    database: str
    table: str
    location: str = ""
    paths: tuple[str, ...] = ()
    warehouse: str = ""
    namespace: str = ""
    uuid: str = ""

    def has_location(self, location: str) -> bool:
        """Whether a location is one that our own configuration gives the table.

        Where that knows neither a warehouse nor the namespace's location, a folder of the table's name in
        one of its database's is taken for it.
        """
        wanted = normalized(location)
        if not wanted or is_indirect(wanted):
            return False
        if wanted == normalized(self.location):
            return True
        parent, _, name = wanted.rpartition("/")
        if name not in (self.table, self.uuid) and not self._with_id(name):
            return False
        if parents := self._parents():
            return parent in parents
        return parent.rpartition("/")[2] in self._folder_names()

    def of_files(self, location: str) -> tuple[str, ...]:
        """The folders, each with a final slash, below which files are the table's, as below its location."""
        defaults = (f"{parent}/{self.table}" for parent in self._parents())
        folders = (*map(normalized, (location, self.location, *self.paths)), *defaults)
        return tuple(f"{folder}/" for folder in dict.fromkeys(folders) if folder)

    def _with_id(self, name: str) -> bool:
        return name.startswith(self.table) and bool(_ID.fullmatch(name, len(self.table)))

    def _parents(self) -> tuple[str, ...]:
        warehouse, namespace = normalized(self.warehouse), normalized(self.namespace)
        below = (f"{warehouse}/{name}" for name in self._folder_names()) if is_folder(warehouse) else ()
        return (*below, *([namespace] if namespace else []))

    def _folder_names(self) -> tuple[str, ...]:
        return f"{self.database}.db", self.database


def given_paths(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The folders that properties of our own configuration name for files.

    >>> given_paths({"write.data.path": "s3://fast/orders", "owner": "sales"})
    ('s3://fast/orders',)
    """
    return tuple(properties[key] for key in PATHS if properties.get(key))


def normalized(location: str) -> str:
    """A location in the form in which it is compared: as S3's other schemes and local files are one.

    >>> normalized("s3a://bucket/orders/"), normalized("file:///tmp/orders")
    ('s3://bucket/orders', '/tmp/orders')
    """
    text = re.sub(r"^s3[an]?://", "s3://", location.strip(), flags=re.IGNORECASE)
    return re.sub(r"^file:(?://)?(?=/)", "", text, flags=re.IGNORECASE).rstrip("/")


def is_folder(warehouse: str) -> bool:
    """Whether a warehouse is a folder; a REST catalog's may be just a name."""
    return warehouse.startswith("/") or "://" in warehouse


def is_indirect(path: str) -> bool:
    """Whether a path leaves, or may leave, the folder it seems to be in."""
    return bool(re.search(INDIRECT, path))


def is_tableflow_location(location: str) -> bool:
    """Whether a table's files are where Tableflow keeps those of a topic.

    >>> is_tableflow_location("s3://bucket/10011010/11101100/org-1/env-2/lkc-3/v1/tableId")
    True
    >>> is_tableflow_location("s3://bucket/warehouse/lkc-3.db/orders")
    False
    """
    return bool(_LOCATION.fullmatch(location))
