"""Schema Registry: registration, lookup and deletion of schemas.

Compatibility is not checked, so `/config` returns `NONE`.
"""

from __future__ import annotations

import json
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded.confluent.answers import ApiError, EmulatorContext, Json
from lineage_bridge_dagster.embedded.confluent.planes import schema_registry_prefix
from lineage_bridge_dagster.embedded.confluent.state import Document, milliseconds, stable_uuid

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"

#: A schema version: `{version, id, guid, schemaType, schema, references, ts}`; `ts` is in milliseconds.
Version = dict[str, Any]


class SchemaRegistry:
    """The environment's Schema Registry, under its own prefix."""

    def __init__(self, context: EmulatorContext) -> None:
        self.context = context

    @property
    def routes(self) -> list[Route]:
        root = schema_registry_prefix()
        return [
            Route(f"{root}/schemas", self.schemas),
            Route(f"{root}/schemas/ids/{{id:int}}", self.by_id),
            Route(f"{root}/subjects/{{subject:path}}/versions", self.register, methods=["POST"]),
            Route(f"{root}/subjects/{{subject:path}}/versions", self.versions),
            Route(f"{root}/subjects/{{subject:path}}/versions/{{version}}", self.version),
            Route(f"{root}/config", self.config),
        ]

    def schemas(self, request: Request) -> Response:
        """List all schema versions, or with `latestOnly=true` the last one of each subject."""
        prefix = _prefix(request)
        latest = request.query_params.get("latestOnly", "false").lower() == "true"
        with self.context.state.reading("schemas") as document:
            schemas = [
                _version_body(subject, version)
                for subject, versions in sorted(document["subjects"].items())
                if subject.startswith(prefix)
                for version in (versions[-1:] if latest else versions)
            ]
        return _json(_window(request, schemas))

    def versions(self, request: Request) -> Response:
        with self.context.state.reading("schemas") as document:
            versions = [v["version"] for v in _versions(document, request.path_params["subject"])]
        return _json(versions)

    def version(self, request: Request) -> Response:
        return _json(_version_body(request.path_params["subject"], self._version(request)))

    def _version(self, request: Request) -> Version:
        requested = request.path_params["version"]
        with self.context.state.reading("schemas") as document:
            versions = _versions(document, request.path_params["subject"])
            if requested in ("latest", "-1"):
                return versions[-1]
            if not requested.isdecimal() or int(requested) < 1:
                raise ApiError(422, f"The specified version '{requested}' is not valid.", code=42202)
            for version in versions:
                if version["version"] == int(requested):
                    return version
        raise ApiError(404, f"Version {requested} not found.", code=40402)

    def by_id(self, request: Request) -> Response:
        schema_id = request.path_params["id"]
        with self.context.state.reading("schemas") as document:
            every = (version for versions in document["subjects"].values() for version in versions)
            version = next((each for each in every if each["id"] == schema_id), None)
        if version is None:
            raise ApiError(404, f"Schema {schema_id} not found", code=40403)
        body = {key: version[key] for key in ("schema", "schemaType", "references", "guid")}
        return _json({k: v for k, v in body.items() if v and v != "AVRO"})

    async def register(self, request: Request) -> Response:
        """Register a schema under a subject; a registered schema keeps its id and version."""
        schema = _parse_schema(await request.body())
        subject = request.path_params["subject"]
        with self.context.state.changing("schemas") as document:
            versions = document["subjects"].setdefault(subject, [])
            version = next((v for v in versions if _is_same_schema(v, schema)), None)
            if version is None:
                version = {
                    **schema,
                    "id": _schema_id(document, schema),
                    "version": versions[-1]["version"] + 1 if versions else 1,
                    "guid": stable_uuid("schema", schema["schema"]),
                    "ts": milliseconds(),
                }
                versions.append(version)
        return _json(_version_body(None, version))

    def config(self, _: Request) -> Response:
        return _json({"compatibilityLevel": "NONE"})


def _json(body: Any) -> Response:
    return JSONResponse(body, media_type=MEDIA_TYPE)


def _prefix(request: Request) -> str:
    prefix = request.query_params.get("subjectPrefix", "")
    return "" if prefix == ":*:" else prefix


def _window(request: Request, items: list[Any]) -> list[Any]:
    """Return the slice of a list that `offset` and `limit` select; a negative limit means no limit."""
    offset = _integer(request, "offset", 0)
    limit = _integer(request, "limit", -1)
    return items[offset:] if limit < 0 else items[offset : offset + limit]


def _integer(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    try:
        return int(text)
    except ValueError as error:
        raise ApiError(400, f"{name} must be an integer", code=400) from error


def _versions(document: Document, subject: str) -> list[Version]:
    versions: list[Version] | None = document["subjects"].get(subject)
    if not versions:
        raise ApiError(404, f"Subject '{subject}' not found.", code=40401)
    return versions


def _version_body(subject: str | None, version: Version) -> Json:
    """Return a version in the registry's response format, which omits the default schema type AVRO."""
    body: Json = {"subject": subject} if subject is not None else {}
    body |= {key: version[key] for key in ("version", "id", "guid", "schema", "ts")}
    if version["schemaType"] != "AVRO":
        body["schemaType"] = version["schemaType"]
    if version["references"]:
        body["references"] = version["references"]
    return body


def _parse_schema(body: bytes) -> Version:
    """Return the schema in a request body.

    Raises:
        ApiError: 422 if it is invalid.
    """
    try:
        request = json.loads(body)
        text = request["schema"]
        kind = request.get("schemaType") or "AVRO"
        references = request.get("references") or []
        if kind == "AVRO" and not references:
            fastavro.parse_schema(json.loads(text), _write_hint=False)
    except (ValueError, TypeError, KeyError, AttributeError, SchemaParseException, UnknownType) as error:
        raise ApiError(422, f"Invalid schema: {error}", code=42201) from error
    if kind not in ("AVRO", "JSON", "PROTOBUF"):
        raise ApiError(422, f"Invalid schema type: {kind}", code=42201)
    return {"schema": text, "schemaType": kind, "references": references}


def _is_same_schema(a: Version, b: Version) -> bool:
    return all(a[key] == b[key] for key in ("schema", "schemaType", "references"))


def _schema_id(document: Document, schema: Version) -> int:
    """Return the id of a schema: its id under another subject, or else the next free id."""
    for versions in document["subjects"].values():
        for version in versions:
            if _is_same_schema(version, schema):
                return int(version["id"])
    new_id = int(document["next_id"])
    document["next_id"] = new_id + 1
    return new_id
