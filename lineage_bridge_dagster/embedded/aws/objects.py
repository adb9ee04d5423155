"""S3 as moto answers it, each change written to the store before it is acknowledged."""

from __future__ import annotations

import logging
import xml.etree.ElementTree as ElementTree
from datetime import datetime
from urllib.parse import parse_qs

from moto.s3.models import FakeKey, S3Backend, s3_backends

from lineage_bridge_dagster.embedded.aws.store import Store, StoredObject

_log = logging.getLogger(__name__)


class DurableObjects:
    """One account's buckets.

    Args:
        account_id: whose.
        store: where every change is written.
    """

    def __init__(self, account_id: str, store: Store) -> None:
        self._account_id = account_id
        self._store = store

    @property
    def _backend(self) -> S3Backend:
        return s3_backends[self._account_id]["aws"]

    def restore(self) -> int:
        """Bring back what the store holds; returns the number of objects."""
        for name, region in self._store.buckets():
            self._backend.create_bucket(name, region)
        count = 0
        for item in self._store.objects():
            count += 1
            key = self._backend.put_object(
                item.bucket, item.key, item.body, etag=item.etag or None, disable_notification=True
            )
            key.set_metadata(dict(item.metadata))
            key.last_modified = datetime.fromisoformat(item.modified)
        return count

    def keep(self, method: str, path: str, query: str, body: bytes) -> None:
        """Write what a request that succeeded has changed.

        Args:
            method: of HTTP.
            path: `/bucket` or `/bucket/key`, decoded.
            query: as sent.
            body: as sent; the keys of a bulk deletion are in it.
        """
        bucket, _, key = path.lstrip("/").partition("/")
        if not bucket:
            return
        if bucket not in self._backend.buckets:
            self._store.delete_bucket(bucket)
        elif key:
            self._keep_object(bucket, key)
        elif method == "POST" and "delete" in parse_qs(query, keep_blank_values=True):
            for name in _keys_to_delete(body):
                self._keep_object(bucket, name)
        elif method == "PUT":
            self._store.put_bucket(bucket, self._backend.buckets[bucket].region_name)

    def _keep_object(self, bucket: str, name: str) -> None:
        key = self._backend.buckets[bucket].keys.get(name)
        if not isinstance(key, FakeKey):
            self._store.delete_object(bucket, name)
            return
        self._store.put_object(
            StoredObject(
                bucket,
                name,
                key.value,
                key.etag.strip('"'),
                {str(k): str(v) for k, v in key.metadata.items()},
                key.last_modified.isoformat(),
            )
        )


def operation_of(method: str, path: str, query: str) -> str:
    """The name of an S3 operation, for faults and counts."""
    given = parse_qs(query, keep_blank_values=True)
    bucket, _, key = path.lstrip("/").partition("/")
    if not bucket:
        return "ListBuckets"
    if not key:
        if method == "POST" and "delete" in given:
            return "DeleteObjects"
        if method == "GET":
            return "ListObjectsV2" if "list-type" in given else "ListObjects"
        return {"PUT": "CreateBucket", "DELETE": "DeleteBucket", "HEAD": "HeadBucket"}.get(method, method)
    if "uploadId" in given:
        return {"PUT": "UploadPart", "POST": "CompleteMultipartUpload", "DELETE": "AbortMultipartUpload"}.get(
            method, "ListParts"
        )
    if method == "POST" and "uploads" in given:
        return "CreateMultipartUpload"
    return {"PUT": "PutObject", "GET": "GetObject", "HEAD": "HeadObject", "DELETE": "DeleteObject"}.get(
        method, method
    )


def _keys_to_delete(body: bytes) -> list[str]:
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - from our own stack's clients, over loopback
    except ElementTree.ParseError:
        _log.warning("A bulk deletion that was carried out could not be read; its objects stay in the store")
        return []
    return [element.text or "" for element in root.iter() if element.tag.rpartition("}")[2] == "Key"]
