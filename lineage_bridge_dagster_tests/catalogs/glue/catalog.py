"""Glue tables, and the other writers of a Glue catalog."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.glue.fields import writable_fields
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, NOW, REGION

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient as GlueClient
else:
    # The stubs are large, and only needed to check types.
    GlueClient = Any


def raw_table(name: str = "orders.v1", database: str = CLUSTER, **changes: Any) -> dict[str, Any]:
    """A `Table` of Glue's API: an Iceberg table as Tableflow creates it."""
    return {
        "Name": name,
        "DatabaseName": database,
        "CatalogId": "123456789012",
        "VersionId": "7",
        "CreateTime": NOW,
        "UpdateTime": NOW,
        "CreatedBy": "arn:aws:sts::123456789012:assumed-role/tableflow/session",
        "IsRegisteredWithLakeFormation": False,
        "IsMultiDialectView": False,
        "Owner": "tableflow",
        "Retention": 3,
        "LastAccessTime": NOW,
        "TableType": "EXTERNAL_TABLE",
        "PartitionKeys": [],
        "Parameters": {
            "table_type": "ICEBERG",
            "metadata_location": f"s3://bucket/{name}/metadata/00007-x.metadata.json",
            "previous_metadata_location": f"s3://bucket/{name}/metadata/00006-x.metadata.json",
        },
        "StorageDescriptor": {
            "Location": f"s3://bucket/{name}",
            "Columns": [{"Name": "id", "Type": "bigint", "Comment": "the key", "Parameters": {"k": "v"}}],
            "Compressed": False,
            "SerdeInfo": {"SerializationLibrary": "some.serde", "Parameters": {"a": "b"}},
            "BucketColumns": ["id"],
        },
        **changes,
    }


def glue_table(name: str = "orders.v1", database: str = CLUSTER, **changes: Any) -> GlueTable:
    return GlueTable.from_raw(raw_table(name, database, **changes), database)


class Catalog:
    """What others do to the catalog: create tables, commit to them, edit them. It has its own Glue client."""

    def __init__(self, aws: StrictAws, region: str = REGION) -> None:
        self.aws = aws
        self.glue = aws.client("glue", region)

    def create(
        self,
        name: str,
        database: str = CLUSTER,
        *,
        parameters: Mapping[str, str] | None = None,
        **changes: Any,
    ) -> None:
        with contextlib.suppress(self.glue.exceptions.AlreadyExistsException):
            self.glue.create_database(DatabaseInput={"Name": database})
        writable = {
            key: value
            for key, value in raw_table(name, database).items()
            if key in ("Name", "Owner", "Retention", "TableType", "Parameters", "StorageDescriptor")
        }
        table_input = {**writable, **changes}
        table_input["Parameters"] = {**table_input["Parameters"], **(parameters or {})}
        self.glue.create_table(DatabaseName=database, TableInput=table_input)

    def table(self, name: str, database: str = CLUSTER) -> dict[str, Any]:
        table: dict[str, Any] = self.glue.get_table(DatabaseName=database, Name=name)["Table"]
        return table

    def parameters(self, name: str, database: str = CLUSTER) -> dict[str, str]:
        parameters: dict[str, str] = self.table(name, database)["Parameters"]
        return parameters

    def commit(self, name: str, database: str = CLUSTER, **changes: Any) -> str:
        """Commit as an Iceberg writer does: move `metadata_location`, bound to the version that was read.

        Returns:
            The new metadata location.
        """
        table = self.table(name, database)
        parameters = dict(table["Parameters"])
        number = int(parameters["metadata_location"].rpartition("/")[2].split("-")[0]) + 1
        location = f"s3://bucket/{name}/metadata/{number:05d}-x.metadata.json"
        parameters["previous_metadata_location"] = parameters["metadata_location"]
        parameters["metadata_location"] = location
        self.edit(name, database, table=table, Parameters=parameters, **changes)
        return location

    def edit(
        self, name: str, database: str = CLUSTER, *, table: dict[str, Any] | None = None, **changes: Any
    ) -> None:
        """Change fields of a table, as in the console."""
        table = table or self.table(name, database)
        table_input = {key: value for key, value in table.items() if key in writable_fields()} | changes
        self.glue.update_table(
            DatabaseName=database,
            TableInput={key: value for key, value in table_input.items() if value is not None},
            VersionId=table["VersionId"],
            SkipArchive=True,
        )
