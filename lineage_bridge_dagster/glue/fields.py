"""Which fields of a Glue table a write can carry, as botocore's own service model has them."""

from __future__ import annotations

from functools import cache

from botocore.loaders import create_loader

#: Fields of `Table` that Glue keeps by itself, so that leaving them out of `TableInput` loses nothing.
#: Listed by hand on purpose: a field that a newer model adds is refused until someone has looked at it.
#: `RLSProperties` (the default row-level security policy) is left out: whether `UpdateTable` keeps it is not
#: documented.
READ_ONLY_FIELDS = frozenset(
    {
        "CatalogId",
        "CreateTime",
        "CreatedBy",
        "DatabaseName",
        "IcebergTableMetadata",
        "IsMaterializedView",
        "IsMultiDialectView",
        "IsRegisteredWithLakeFormation",
        "Status",
        "UpdateTime",
        "VersionId",
    }
)


@cache
def writable_fields() -> frozenset[str]:
    """The members of both `Table`, which is read, and `TableInput`, which is written."""
    shapes = create_loader().load_service_model("glue", "service-2")["shapes"]
    return frozenset(shapes["Table"]["members"]) & frozenset(shapes["TableInput"]["members"])
