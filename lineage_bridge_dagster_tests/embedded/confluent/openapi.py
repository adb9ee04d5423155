"""Holds requests and answers to Confluent's OpenAPI documents."""

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

#: Where a path's document is, by the path's beginning, and what of it the document leaves out.
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
    """One OpenAPI document, read once, its schemas turned into JSON Schema."""

    def __init__(self, name: str) -> None:
        self.name = name
        text = shared("confluent", "openapi", name).read_text("utf-8")
        self.contents: Json = _as_json_schema(yaml.load(text, yaml.CSafeLoader))
        resource = Resource(contents=self.contents, specification=DRAFT7)
        self._registry = Registry().with_resource("document", resource)

    def operation(self, method: str, path: str, query: str) -> tuple[str, Json]:
        """The path template that fits best, and the operation.

        Raises:
            AssertionError: the document has no such operation.
        """
        templates = list(self.contents["paths"])
        # Connect's document has one path with its query in it.
        with_query = [t for t in templates if "?" in t and unquote(query).startswith(t.partition("?")[2])]
        fitting = [t for t in with_query if _fits(t.partition("?")[0], path)]
        fitting = fitting or [t for t in templates if "?" not in t and _fits(t, path)]
        fitting = [t for t in fitting if method.lower() in self.contents["paths"][t]]
        assert fitting, f"{self.name} has no {method} {path}"
        best = min(fitting, key=lambda t: t.count("{"))
        return best, self.contents["paths"][best][method.lower()]

    def resolve(self, item: Json) -> Json:
        """The object that a reference of this document stands for."""
        while "$ref" in item:
            target: Any = self.contents
            for part in item["$ref"].removeprefix("document#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            item = target
        return item

    def parameters(self, template: str, operation: Json) -> list[Json]:
        listed = [*operation.get("parameters", ()), *self.contents["paths"][template].get("parameters", ())]
        return [self.resolve(p) for p in listed]

    def errors(self, schema: Json, body: Any) -> list[str]:
        validator = Draft7Validator(schema, registry=self._registry, format_checker=FormatChecker())
        return [
            f"{'/'.join(str(p) for p in error.absolute_path)}: {error.message[:300]}"
            for error in validator.iter_errors(body)
        ]


@cache
def document(name: str) -> Document:
    return Document(name)


def place(path: str) -> tuple[Document, str]:
    """The document that a path of the emulator belongs to, and the path as the document has it.

    Raises:
        AssertionError: it belongs to none.
    """
    for pattern, name in _DOCUMENTS:
        if match := re.match(pattern, path):
            return document(name), path[len(match[1]) :]
    raise AssertionError(f"no document has {path}")


def check_request(request: httpx.Request) -> None:
    """Assert that the document has the operation and its parameters, and that none required is missing."""
    url = urlsplit(str(request.url))
    found, path = place(url.path)
    template, operation = found.operation(request.method, path, url.query)
    known = {p["name"]: p for p in found.parameters(template, operation) if p["in"] == "query"}
    given = set(request.url.params.keys())
    # The document has `expand` both as a parameter and as a path of its own.
    given -= {"expand"} if "?expand" in template else set()
    assert given <= known.keys(), f"{request.method} {path}: unknown parameters {given - known.keys()}"
    missing = {name for name, p in known.items() if p.get("required")} - given
    assert not missing, f"{request.method} {path}: missing parameters {missing}"


def check_answer(answer: httpx.Response) -> None:
    """Assert that an answer's body has the shape that the document gives this operation and status."""
    url = urlsplit(str(answer.request.url))
    found, path = place(url.path)
    template, operation = found.operation(answer.request.method, path, url.query)
    where = f"{answer.request.method} {template} {answer.status_code}"
    responses: Mapping[str, Json] = {str(k): v for k, v in operation["responses"].items()}
    described = responses.get(str(answer.status_code)) or responses.get("default")
    assert described is not None, f"{where} is not in {found.name}, which has {sorted(responses)}"
    described = found.resolve(described)
    _check_headers(answer, described.get("headers", {}), where)
    content = described.get("content")
    if not content:
        assert not answer.content, f"{where} should have no body"
        return
    given = answer.headers["content-type"].partition(";")[0]
    kinds = {kind.partition(";")[0]: body for kind, body in content.items()}
    assert given in kinds, f"{where}: {given} is not one of {sorted(kinds)}"
    schema = kinds[given].get("schema", {})
    body = answer.json() if schema.get("type") != "string" else answer.text
    errors = found.errors(schema, body)
    assert not errors, f"{where}:\n" + "\n".join(errors[:10])


def _check_headers(answer: httpx.Response, wanted: Iterable[str], where: str) -> None:
    missing = [name for name in wanted if name not in answer.headers]
    assert not missing, f"{where}: headers {missing} are missing"


def _fits(template: str, path: str) -> bool:
    pattern = "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in _split(template))
    return re.fullmatch(pattern, path) is not None


def _split(template: str) -> list[str]:
    return [part for part in re.split(r"(\{[^}]+\})", template) if part]


def _as_json_schema(item: Any) -> Any:
    """The document with `nullable` as JSON Schema says it and references into one document.

    `x-extensible-enum` is no constraint, by its meaning; `readOnly` is none on answers.
    """
    if isinstance(item, list):
        return [_as_json_schema(part) for part in item]
    if not isinstance(item, dict):
        return item
    if isinstance(item.get("$ref"), str):
        return {"$ref": f"document{item['$ref']}"}
    made = {str(key): _as_json_schema(value) for key, value in item.items() if key != "example"}
    if made.get("nullable") is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
        if isinstance(made.get("enum"), list):
            made["enum"] = [*made["enum"], None]
    return made
