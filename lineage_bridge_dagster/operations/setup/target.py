"""The namespace of a table bucket that a principal should reach through Glue."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lineage_bridge_dagster.config.aws_partitions import partition_of
from lineage_bridge_dagster.errors import ConfigurationError

#: The catalog of Glue that mounts all table buckets of an account and region.
CATALOG = "s3tablescatalog"

_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9_]{0,254}")
_PRINCIPAL = re.compile(r"arn:aws[a-z-]*:iam::(\d{12}):(?:role|user)/\S+")


@dataclass(frozen=True, slots=True)
class Target:
    """What to set up, and for whom.

    Attributes:
        account: the account that owns the table bucket.
        principal: ARN of an IAM role or user, in this account or another one.
        read_only: whether the principal only reads.
        data_access_role: ARN of the role whose credentials Lake Formation lends; empty: leave it as it is.

    Raises:
        ConfigurationError: a name or an ARN is malformed.
    """

    account: str
    region: str
    bucket: str
    namespace: str
    principal: str
    read_only: bool = False
    data_access_role: str = ""

    def __post_init__(self) -> None:
        if not _BUCKET.fullmatch(self.bucket):
            raise ConfigurationError(
                f"{self.bucket!r} is not the name of a table bucket.",
                hint="Pass the name alone, without its ARN: 3 to 63 lower-case letters, digits and hyphens.",
            )
        if not _NAMESPACE.fullmatch(self.namespace):
            raise ConfigurationError(
                f"S3 Tables does not accept the namespace {self.namespace!r}.",
                hint="Use lower-case letters, digits and underscores, starting with a letter or a digit.",
            )
        for arn in filter(None, (self.principal, self.data_access_role)):
            if not _PRINCIPAL.fullmatch(arn):
                raise ConfigurationError(
                    f"{arn} is not the ARN of an IAM role or user.",
                    hint="Write it as arn:aws:iam::111122223333:role/name. For an assumed role "
                    "(arn:aws:sts::...), pass the ARN of the role.",
                )

    @property
    def catalog_id(self) -> str:
        """Glue's id of the catalog of all table buckets."""
        return f"{self.account}:{CATALOG}"

    @property
    def bucket_catalog_id(self) -> str:
        """Glue's id of the table bucket's catalog, which is also the warehouse of the Iceberg endpoint."""
        return f"{self.catalog_id}/{self.bucket}"

    @property
    def all_buckets_arn(self) -> str:
        return f"arn:{partition_of(self.region)}:s3tables:{self.region}:{self.account}:bucket/*"

    @property
    def bucket_arn(self) -> str:
        return self.all_buckets_arn.removesuffix("*") + self.bucket

    @property
    def principal_account(self) -> str:
        match = _PRINCIPAL.fullmatch(self.principal)
        return match[1] if match else ""

    @property
    def is_cross_account(self) -> bool:
        return self.principal_account != self.account
