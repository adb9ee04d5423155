"""IAM policies with the least permissions for discovery, pushes and checks, as JSON documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lineage_bridge_dagster.glue.links import partition_of

_READ = ("glue:GetTable", "glue:GetTables")


def discovery_policy(account: str, region: str, databases: Iterable[str] = ()) -> dict[str, Any]:
    """List databases and read tables: those in `databases`, by default in the whole catalog.

    If Lake Formation governs the tables, DESCRIBE on them must be granted there as well.
    """
    names = _names(databases)
    return _policy(
        # GetDatabases lists the whole catalog, so it can be allowed only on all of its databases.
        _statement("ListGlueDatabases", ("glue:GetDatabases",), account, region, ["*"], tables=False),
        _statement("ReadGlueTables", _READ, account, region, names),
    )


def push_policy(account: str, region: str, databases: Iterable[str] = ()) -> dict[str, Any]:
    """Read and update tables, without creating or deleting any and without reading data.

    If Lake Formation governs the tables, ALTER and DESCRIBE on them must be granted there as well.
    """
    return _policy(
        _statement("PushLineage", (*_READ, "glue:UpdateTable"), account, region, _names(databases))
    )


def freshness_policy(region: str, buckets: Iterable[str]) -> dict[str, Any]:
    """Read the metadata files of the tables in these buckets, for the times of their last commits; no data.

    A bucket with its own key also needs kms:Decrypt on that key.
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
