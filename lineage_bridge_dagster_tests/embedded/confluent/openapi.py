"""Validate requests and responses against Confluent's OpenAPI documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import yaml
from jsonschema import Draft7Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from lineage_bridge_dagster_tests.conftest import shared

Json = dict[str, Any]

#: Pattern of a path's start -> its document. The group is the prefix that the document's paths omit.
_DOCUMENTS = (
    (r"()/org/v2/", "org-v2.yaml"),
    (r"()/cmk/v2/", "cmk-v2.yaml"),
    (r"()/fcpm/v2/", "fcpm-v2.yaml"),
    (r"()/srcm/v3/", "srcm-v3.yaml"),
    (r"()/iam/v2/", "iam-v2.yaml"),
    (r"()/pim/v1/", "provider-integration-pim-v1.yaml"),
    (r"()/ksqldbcm/v2/", "ksqldbcm-v2.yaml"),
    (r"()/connect/v1/", "connect-v1.yaml"),
    (r"()/tableflow/v1/", "tableflow-v1.yaml"),
    (r"(/kafka/[^/]+)/kafka/v3/", "kafkarest-v3.yaml"),
    (r"(/schema-registry/[^/]+)/", "schema-registry-v1-ccloud.yaml"),
    (r"(/flink/[^/]+)/sql/v1/", "flink-gateway-sql-v1.yaml"),
)


class Document:
    """One OpenAPI document, with its schemas converted to JSON Schema."""

    def __init__(self, name: str) -> None:
        self.name = name
        text = shared("confluent", "openapi", name).read_text("utf-8")
        self.contents: Json = _as_json_schema(yaml.load(text, yaml.CSafeLoader))
        resource = Resource(contents=self.contents, specification=DRAFT7)
        self._registry = Registry().with_resource("document", resource)

    def operation(self, method: str, path: str, query: str) -> tuple[str, Json]:
        """Return the most specific matching path template, and its operation.

        Raises:
            AssertionError: the document has no matching operation.
        """
        templates = list(self.contents["paths"])
        # Connect's document has one path that includes its query.
        with_query = [t for t in templates if "?" in t and unquote(query).startswith(t.partition("?")[2])]
        matching = [t for t in with_query if _matches(t.partition("?")[0], path)]
        matching = matching or [t for t in templates if "?" not in t and _matches(t, path)]
        matching = [t for t in matching if method.lower() in self.contents["paths"][t]]
        assert matching, f"{self.name} has no {method} {path}"
        best = min(matching, key=lambda t: t.count("{"))
        return best, self.contents["paths"][best][method.lower()]

    def resolve(self, item: Json) -> Json:
        """Resolve a `$ref` within this document."""
        while "$ref" in item:
            target: Any = self.contents
            for part in item["$ref"].removeprefix("document#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            item = target
        return item

    def parameters(self, template: str, operation: Json) -> list[Json]:
        parameters = [
            *operation.get("parameters", ()),
            *self.contents["paths"][template].get("parameters", ()),
        ]
        return [self.resolve(p) for p in parameters]

    def errors(self, schema: Json, body: Any) -> list[str]:
        validator = Draft7Validator(schema, registry=self._registry, format_checker=FormatChecker())
        return [
            f"{'/'.join(str(p) for p in error.absolute_path)}: {error.message[:300]}"
            for error in validator.iter_errors(body)
        ]


@cache
def document(name: str) -> Document:
    return Document(name)


def find_document(path: str) -> tuple[Document, str]:
    """Return the document of an emulator path, and the path as in that document.

    Raises:
        AssertionError: no document covers it.
    """
    for pattern, name in _DOCUMENTS:
        if match := re.match(pattern, path):
            return document(name), path[len(match[1]) :]
    raise AssertionError(f"no document covers {path}")


def check_request(request: httpx.Request) -> None:
    """Assert that the operation is documented, with all given parameters and no required one missing."""
    url = urlsplit(str(request.url))
    document, path = find_document(url.path)
    template, operation = document.operation(request.method, path, url.query)
    known = {p["name"]: p for p in document.parameters(template, operation) if p["in"] == "query"}
    sent = set(request.url.params.keys())
    # The document has `expand` both as a parameter and in a separate path.
    sent -= {"expand"} if "?expand" in template else set()
    assert sent <= known.keys(), f"{request.method} {path}: unknown parameters {sent - known.keys()}"
    missing = {name for name, p in known.items() if p.get("required")} - sent
    assert not missing, f"{request.method} {path}: missing parameters {missing}"


def check_response(response: httpx.Response) -> None:
    """Assert that the headers and body match the document of this operation and status."""
    url = urlsplit(str(response.request.url))
    document, path = find_document(url.path)
    template, operation = document.operation(response.request.method, path, url.query)
    where = f"{response.request.method} {template} {response.status_code}"
    responses: Mapping[str, Json] = {str(k): v for k, v in operation["responses"].items()}
    documented = responses.get(str(response.status_code)) or responses.get("default")
    assert documented is not None, f"{where} is not in {document.name}, which has {sorted(responses)}"
    documented = document.resolve(documented)
    _check_headers(response, documented.get("headers", {}), where)
    content = documented.get("content")
    if not content:
        assert not response.content, f"{where} should have no body"
        return
    media_type = response.headers["content-type"].partition(";")[0]
    kinds = {kind.partition(";")[0]: body for kind, body in content.items()}
    assert media_type in kinds, f"{where}: {media_type} is not one of {sorted(kinds)}"
    schema = kinds[media_type].get("schema", {})
    body = response.json() if schema.get("type") != "string" else response.text
    errors = document.errors(schema, body)
    assert not errors, f"{where}:\n" + "\n".join(errors[:10])


def _check_headers(response: httpx.Response, required: Iterable[str], where: str) -> None:
    missing = [name for name in required if name not in response.headers]
    assert not missing, f"{where}: headers {missing} are missing"


def _matches(template: str, path: str) -> bool:
    pattern = "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in _split(template))
    return re.fullmatch(pattern, path) is not None


def _split(template: str) -> list[str]:
    return [part for part in re.split(r"(\{[^}]+\})", template) if part]


def _as_json_schema(item: Any) -> Any:
    """Convert `nullable` to JSON Schema, and make references absolute.

    `x-extensible-enum` is by definition no constraint, and `readOnly` is none on responses.
    """
    if isinstance(item, list):
        return [_as_json_schema(part) for part in item]
    if not isinstance(item, dict):
        return item
    if isinstance(item.get("$ref"), str):
        return {"$ref": f"document{item['$ref']}"}
    schema = {str(key): _as_json_schema(value) for key, value in item.items() if key != "example"}
    if schema.get("nullable") is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list):
            schema["enum"] = [*schema["enum"], None]
    return schema
