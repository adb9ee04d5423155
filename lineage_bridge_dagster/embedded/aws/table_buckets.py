"""S3 Tables' API of buckets, namespaces and tables, and Glue's catalog that mounts table buckets.

A bucket's namespaces and tables are those of its Iceberg REST catalog, which the stack's writers use. What is
mounted, like Lake Formation's grants in moto, lasts until the server stops.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import httpx

from lineage_bridge_dagster.embedded.aws.errors import AwsError
from lineage_bridge_dagster.embedded.ports import local_client

Json = dict[str, Any]

_PATH = re.compile(
    r"/(?P<what>buckets|namespaces|tables)(?:/(?P<arn>arn:[^/]+:bucket/[^/]+)(?:/(?P<name>[^/]+))?)?"
)
#: The creation of everything, which the catalogs do not keep.
_CREATED = "2026-01-01T00:00:00Z"
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class TableBucket:
    """A bucket, and the base URL of its catalog, up to and without `/v1`."""

    name: str
    region: str
    catalog_url: str


class TableBuckets:
    """One account's table buckets, and its catalogs in Glue besides the account's own."""

    def __init__(self, account_id: str) -> None:
        self._account_id = account_id
        self._buckets: dict[str, TableBucket] = {}
        self._catalogs: dict[tuple[str, str], Json] = {}
        self._client = local_client(timeout=_SECONDS)
        self._glue: Mapping[str, Callable[[str, Json], Json]] = {
            "GetCatalog": self._get_catalog,
            "CreateCatalog": self._create_catalog,
            "DeleteCatalog": self._delete_catalog,
        }

    def add(self, bucket: TableBucket) -> None:
        """Serve a bucket."""
        self._buckets[self._arn(bucket)] = bucket

    def implements(self, operation: str) -> bool:
        """Whether an operation of Glue is one on catalogs."""
        return operation in self._glue

    def call(self, region: str, operation: str, request: Json) -> Json:
        """Execute an operation of Glue.

        Raises:
            AwsError: Glue would reject the request.
        """
        return self._glue[operation](region, request)

    def answer(self, method: str, path: str, query: Mapping[str, list[str]], body: bytes) -> tuple[int, Json]:
        """The status and the body of the answer to a request to S3 Tables.

        Raises:
            AwsError: S3 Tables would reject the request.
        """
        match = _PATH.fullmatch(path)
        if match is None:
            raise AwsError("NotFoundException", f"The local stack does not serve {method} {path}.", 404)
        what, name = match["what"], unquote(match["name"] or "")
        if match["arn"] is None:
            return 200, {"tableBuckets": [self._bucket(bucket) for bucket in self._buckets.values()]}
        bucket = self._buckets.get(match["arn"])
        if bucket is None:
            raise AwsError("NotFoundException", "The specified bucket does not exist.", 404)
        match method, what:
            case "GET", "buckets":
                return 200, self._bucket(bucket)
            case "GET", "namespaces" if name:
                self._rest(bucket, "GET", f"namespaces/{quote(name, safe='')}")
                return 200, self._namespace(name)
            case "GET", "namespaces":
                found = self._rest(bucket, "GET", "namespaces")["namespaces"]
                return 200, {"namespaces": [self._namespace(levels[0]) for levels in found]}
            case "PUT", "namespaces":
                namespace = json.loads(body)["namespace"]
                self._rest(bucket, "POST", "namespaces", {"namespace": namespace})
                return 200, {"tableBucketARN": match["arn"], "namespace": namespace}
            case "DELETE", "namespaces" if name:
                self._rest(bucket, "DELETE", f"namespaces/{quote(name, safe='')}")
                return 204, {}
            case "GET", "tables" if namespace := (query.get("namespace") or [""])[0]:
                found = self._rest(bucket, "GET", f"namespaces/{quote(namespace, safe='')}/tables")
                return 200, {"tables": [self._table(match["arn"], each) for each in found["identifiers"]]}
        raise AwsError("NotFoundException", f"The local stack does not serve {method} {path}.", 404)

    def _arn(self, bucket: TableBucket) -> str:
        return f"arn:aws:s3tables:{bucket.region}:{self._account_id}:bucket/{bucket.name}"

    def _bucket(self, bucket: TableBucket) -> Json:
        return {
            "arn": self._arn(bucket),
            "name": bucket.name,
            "ownerAccountId": self._account_id,
            "createdAt": _CREATED,
        }

    def _namespace(self, name: str) -> Json:
        owner = self._account_id
        return {"namespace": [name], "createdAt": _CREATED, "createdBy": owner, "ownerAccountId": owner}

    def _table(self, arn: str, identifier: Mapping[str, Any]) -> Json:
        name = identifier["name"]
        return {
            "namespace": identifier["namespace"],
            "name": name,
            "type": "customer",
            "tableARN": f"{arn}/table/{name}",
            "createdAt": _CREATED,
            "modifiedAt": _CREATED,
        }

    def _rest(self, bucket: TableBucket, method: str, path: str, body: Json | None = None) -> Json:
        url = f"{bucket.catalog_url}/v1/{path}"
        try:
            answer = self._client.request(method, url, json=body)
        except httpx.HTTPError as error:
            message = f"The catalog of {bucket.name} does not respond: {error}"
            raise AwsError("InternalServerErrorException", message, 500) from error
        if answer.is_success:
            return dict(answer.json()) if answer.content else {}
        code = {404: "NotFoundException", 409: "ConflictException"}.get(answer.status_code)
        message = f"{bucket.name}: {answer.text[:300]}"
        if code is None:
            raise AwsError("InternalServerErrorException", message, 500)
        raise AwsError(code, message, answer.status_code)

    def _get_catalog(self, region: str, request: Json) -> Json:
        catalog_id = str(request["CatalogId"])
        account, _, name = catalog_id.rpartition(":")
        known = self._catalogs.get((region, name))
        if known is None or account not in ("", self._account_id):
            raise AwsError("EntityNotFoundException", f"Catalog {catalog_id} not found.")
        shown = {key: value for key, value in known["CatalogInput"].items() if not key.startswith("Tags")}
        arn = f"arn:aws:glue:{region}:{self._account_id}:catalog/{name}"
        return {
            "Catalog": {"CatalogId": f"{self._account_id}:{name}", "Name": name, "ResourceArn": arn, **shown}
        }

    def _create_catalog(self, region: str, request: Json) -> Json:
        key = (region, str(request["Name"]))
        if key in self._catalogs:
            raise AwsError("AlreadyExistsException", f"Catalog {request['Name']} exists.")
        self._catalogs[key] = request
        return {}

    def _delete_catalog(self, region: str, request: Json) -> Json:
        self._get_catalog(region, request)
        del self._catalogs[region, str(request["CatalogId"]).rpartition(":")[2]]
        return {}
