"""What an inventory collector needs besides the Glue catalog: other regions, S3, KMS, secrets and tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lineage_bridge_dagster.operations.iam.statements import PolicyStatement, allow

KMS_KEY = "<KMS_KEY_ARN>"


@dataclass(frozen=True, slots=True)
class CollectorScope:
    """What a collector needs besides the Glue catalog of one region.

    Attributes:
        regions: the regions it reads; if empty, the region of the scope.
        landing: where it writes its files, as `bucket/prefix`; empty if that is not S3.
        mark: where it keeps its high-water mark, in the same form.
        kms_key: ARN or id of the key that encrypts both.
        secrets: names or ARNs of the secrets with its variables.
        tags: whether it reads Lake Formation tags.
    """

    regions: tuple[str, ...] = ()
    landing: str = ""
    mark: str = ""
    kms_key: str = ""
    secrets: tuple[str, ...] = field(default_factory=tuple)
    tags: bool = False

    def s3_statements(self, partition: str, key_prefix: str) -> Iterator[PolicyStatement]:
        """What it writes to S3, and the mark that it also reads.

        Args:
            key_prefix: what stands before the id of a KMS key in its ARN.
        """
        s3 = f"arn:{partition}:s3:::"
        if self.landing:
            writes = ("s3:AbortMultipartUpload", "s3:PutObject")
            yield allow("LandCollectorFiles", writes, [f"{s3}{self.landing}/*"])
        if self.mark:
            bucket, _, prefix = self.mark.partition("/")
            changes = ("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject")
            yield allow("KeepCollectorMark", changes, [f"{s3}{self.mark}/*"])
            # Only for callers that may list the bucket does S3 answer GetObject with "no such key" instead of
            # "access denied"; that call has no prefix.
            condition = {"StringLikeIfExists": {"s3:prefix": [f"{prefix}/*"]}} if prefix else None
            yield allow("ListCollectorMarks", ("s3:ListBucket",), [f"{s3}{bucket}"], condition)
        if self.kms_key and (self.landing or self.mark):
            # Multipart uploads and the mark are read back.
            key = self.kms_key
            if not key.startswith("arn:"):
                # A policy names a key, never its alias.
                key = KMS_KEY if key.startswith("alias/") else f"{key_prefix}{key}"
            elif ":alias/" in key:
                key = KMS_KEY
            yield allow("EncryptCollectorFiles", ("kms:Decrypt", "kms:GenerateDataKey"), [key])
