"""moto's S3, with each change stored before it is acknowledged, and plain reads answered here."""

from __future__ import annotations

import json
import logging
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

from moto.s3.models import FakeKey, S3Backend, s3_backends

from lineage_bridge_dagster.embedded.aws.store import Store

_log = logging.getLogger(__name__)

#: A range from a position in the object. Others, such as its last bytes, are moto's.
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


#: An answer's status, headers and body.
Read = tuple[int, dict[str, str], bytes]


class DurableObjects:
    """One account's buckets; every change is written to the store."""

    def __init__(self, account_id: str, store: Store) -> None:
        self._account_id = account_id
        self._store = store

    @property
    def _backend(self) -> S3Backend:
        return s3_backends[self._account_id]["aws"]

    def restore(self) -> None:
        """Restore buckets and objects from the store."""
        for bucket, region in self._store.rows("buckets"):
            self._backend.create_bucket(bucket, region)
        for bucket, name, body, etag, metadata, modified in self._store.rows("objects"):
            key = self._backend.put_object(bucket, name, body, etag=etag or None, disable_notification=True)
            key.set_metadata(json.loads(metadata))
            key.last_modified = datetime.fromisoformat(modified)

    def read(self, method: str, path: str, environ: Mapping[str, Any]) -> Read | None:
        """Answer the GET or HEAD of an object, in a tenth of the CPU time of moto's own answer.

        None leaves the request to moto: one with a condition, a version or another parameter, one that fails,
        and one of a bucket with a policy.
        """
        bucket_name, _, name = path.lstrip("/").partition("/")
        bucket = self._backend.buckets.get(bucket_name)
        conditional = environ.get("QUERY_STRING") or any(
            header.startswith("HTTP_IF_") or header == "HTTP_ORIGIN" for header in environ
        )
        if method not in ("GET", "HEAD") or conditional or bucket is None or bucket.policy:
            return None
        key = self._backend.get_object(bucket_name, name)
        if key is None or key.storage_class != "STANDARD":
            return None
        if key.checksum_algorithm and environ.get("HTTP_X_AMZ_CHECKSUM_MODE") == "ENABLED":
            return None
        headers = {**key.metadata, **key.response_dict, "Accept-Ranges": "bytes"}
        if environ.get("HTTP_RANGE"):
            span = _RANGE.fullmatch(environ["HTTP_RANGE"])
            if method == "HEAD" or not span:
                return None
            first, last = int(span[1]), min(int(span[2] or key.size), key.size - 1)
            if first > last:
                return None
            headers |= {
                "content-length": str(last - first + 1),
                "content-range": f"bytes {first}-{last}/{key.size}",
            }
            return 206, headers, key.value[first : last + 1]
        return 200, headers, key.value if method == "GET" else b""

    def persist(self, method: str, path: str, query: str, body: bytes) -> None:
        """Write a successful request's changes to the store; its path is decoded, query and body are raw."""
        bucket, _, key = path.lstrip("/").partition("/")
        if not bucket:
            return
        if bucket not in self._backend.buckets:
            self._store.delete("objects", bucket=bucket)
            self._store.delete("buckets", name=bucket)
        elif key:
            self._persist_object(bucket, key)
        elif method == "POST" and "delete" in parse_qs(query, keep_blank_values=True):
            for name in _keys_to_delete(body):
                self._persist_object(bucket, name)
        elif method == "PUT":
            self._store.put("buckets", bucket, self._backend.buckets[bucket].region_name)

    def _persist_object(self, bucket: str, name: str) -> None:
        key = self._backend.buckets[bucket].keys.get(name)
        if not isinstance(key, FakeKey):
            self._store.delete("objects", bucket=bucket, key=name)
            return
        metadata = {str(k): str(v) for k, v in key.metadata.items()}
        modified = key.last_modified.isoformat()
        self._store.put("objects", bucket, name, key.value, key.etag.strip('"'), metadata, modified)


def s3_operation(method: str, path: str, query: str) -> str:
    """Return the name of a request's S3 operation, as used by faults and call counts."""
    parameters = parse_qs(query, keep_blank_values=True)
    bucket, _, key = path.lstrip("/").partition("/")
    if not bucket:
        return "ListBuckets"
    if not key:
        if method == "POST" and "delete" in parameters:
            return "DeleteObjects"
        if method == "GET":
            return "ListObjectsV2" if "list-type" in parameters else "ListObjects"
        return {"PUT": "CreateBucket", "DELETE": "DeleteBucket", "HEAD": "HeadBucket"}.get(method, method)
    if "uploadId" in parameters:
        return {"PUT": "UploadPart", "POST": "CompleteMultipartUpload", "DELETE": "AbortMultipartUpload"}.get(
            method, "ListParts"
        )
    if method == "POST" and "uploads" in parameters:
        return "CreateMultipartUpload"
    return {"PUT": "PutObject", "GET": "GetObject", "HEAD": "HeadObject", "DELETE": "DeleteObject"}.get(
        method, method
    )


def _keys_to_delete(body: bytes) -> list[str]:
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - sent by the stack's own clients
    except ElementTree.ParseError:
        _log.warning("Cannot parse the body of a bulk deletion; its objects remain in the store")
        return []
    return [element.text or "" for element in root.iter() if element.tag.rpartition("}")[2] == "Key"]
