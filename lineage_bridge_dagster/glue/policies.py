"""The least IAM policies that discovery, pushes and the checks need, as JSON documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lineage_bridge_dagster.glue.links import partition_of

#: What reading takes: the lists alone, and one table when a page would be wasteful or a write was in doubt.
READ_ACTIONS = ("glue:GetDatabases", "glue:GetTables", "glue:GetTable")
PUSH_ACTIONS = ("glue:GetTable", "glue:GetTables", "glue:UpdateTable")


def discovery_policy(account: str, region: str, databases: Iterable[str] = ()) -> dict[str, Any]:
    """Read-only: list databases and tables. Without `databases`, every database of the catalog.

    Where Lake Formation governs the tables, DESCRIBE on them must be granted there as well.
    """
    names = _names(databases)
    return _policy(
        # GetDatabases lists the whole catalog: it can only be allowed on all of its databases.
        _statement("ListGlueDatabases", ("glue:GetDatabases",), account, region, ["*"], tables=False),
        _statement("ReadGlueTables", ("glue:GetTable", "glue:GetTables"), account, region, names),
    )


def push_policy(account: str, region: str, databases: Iterable[str] = ()) -> dict[str, Any]:
    """Read and update tables; nothing is created or deleted, and no data is read.

    Where Lake Formation governs the tables, ALTER and DESCRIBE on them must be granted there as well.
    """
    return _policy(_statement("PushLineage", PUSH_ACTIONS, account, region, _names(databases)))


def freshness_policy(region: str, buckets: Iterable[str]) -> dict[str, Any]:
    """Read the metadata files of the tables in these buckets, which tell when each was committed to last.

    No data file is read. A bucket with a key of its own needs kms:Decrypt on that key besides.
    """
    arn = f"arn:{partition_of(region)}:s3:::"
    return _policy(
        {
            "Sid": "ReadTableMetadata",
            "Effect": "Allow",
            "Action": ["s3:GetObject"],
            "Resource": [f"{arn}{bucket}/*/metadata/*" for bucket in sorted(set(buckets))],
        }
    )


def _names(databases: Iterable[str]) -> list[str]:
    return sorted({name.lower() for name in databases}) or ["*"]


def _statement(
    sid: str, actions: Iterable[str], account: str, region: str, databases: list[str], *, tables: bool = True
) -> dict[str, Any]:
    arn = f"arn:{partition_of(region)}:glue:{region}:{account}:"
    resources = [arn + "catalog", *(f"{arn}database/{name}" for name in databases)]
    if tables:
        resources += [f"{arn}table/{name}/*" for name in databases]
    return {"Sid": sid, "Effect": "Allow", "Action": sorted(actions), "Resource": resources}


def _policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}
