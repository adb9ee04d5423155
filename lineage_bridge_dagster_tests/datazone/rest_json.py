"""A server of an AWS service in REST and JSON, which takes only requests that its botocore model allows."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import botocore.session
from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape

from lineage_bridge_dagster_tests.http_server import Answering, served

Fields = dict[str, Any]


class ServiceError(Exception):
    """An error that the operation's model has."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message)
        self.code = code


class RestJsonService:
    """Answers each operation that has a method of its name: `GetLineageNode` by `get_lineage_node`."""

    service: str

    def __init__(self) -> None:
        model = botocore.session.get_session().get_service_model(self.service)
        self._operations: list[tuple[str, re.Pattern[str], OperationModel, Callable[[Fields], Fields]]] = []
        for name in model.operation_names:
            method = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
            if answer := getattr(self, method, None):
                operation = model.operation_model(name)
                path = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", operation.http["requestUri"])
                self._operations.append((operation.http["method"], re.compile(path), operation, answer))
        self.calls: list[str] = []

    def handle(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> _Answer:
        url = urlsplit(target)
        for verb, path, operation, answer in self._operations:
            if verb == method and (match := path.fullmatch(url.path)):
                self.calls.append(operation.name)
                try:
                    given = {key: unquote(value) for key, value in match.groupdict().items()}
                    fields = _request(operation, given, dict(parse_qsl(url.query)), headers, body)
                    return _answer(operation, answer(fields))
                except ServiceError as error:
                    shape = next(each for each in operation.error_shapes if each.name == error.code)
                    text = json.dumps({"message": str(error)}).encode()
                    status = shape.metadata["error"]["httpStatusCode"]
                    return status, {"x-amzn-ErrorType": error.code}, text
        return 404, {"x-amzn-ErrorType": "UnknownOperationException"}, b"{}"

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Serve on loopback, and yield the endpoint."""
        service = self

        class Handler(Answering):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                status, headers, answer = service.handle(self.command, self.path, self.headers, self.body())
                self.reply(status, answer, headers)

            do_GET = do_POST = do_DELETE = answer

        with served(Handler) as url:
            yield url


_Answer = tuple[int, Mapping[str, str], bytes]


def _request(
    operation: OperationModel,
    uri: Fields,
    query: Fields,
    headers: Mapping[str, str],
    body: bytes,
) -> Fields:
    """The members of the operation's input; every constraint of the model holds."""
    shape = operation.input_shape
    payload = shape.serialization.get("payload")
    document = {} if payload or not body else json.loads(body)
    fields: Fields = {}
    known_query = set()
    for name, member in shape.members.items():
        key = member.serialization.get("name", name)
        match member.serialization.get("location"):
            case "uri":
                value = uri.get(key)
            case "querystring":
                known_query.add(key)
                value = query.get(key)
            case "header":
                value = headers.get(key)
            case _:
                value = body if name == payload else document.pop(key, None)
        if value is not None:
            fields[name] = _parsed(member, value)
    if unknown := [*document, *(set(query) - known_query)]:
        raise ServiceError("ValidationException", f"unknown members {unknown}")
    if found := [*_violations(shape, fields, "")]:
        raise ServiceError("ValidationException", "; ".join(found))
    return fields


def _parsed(shape: Shape, value: Any) -> Any:
    if shape.type_name == "integer" and isinstance(value, str):
        return int(value)
    if shape.type_name == "timestamp":
        return datetime.fromisoformat(value) if isinstance(value, str) else value
    return value


def _violations(shape: Shape, value: Any, path: str) -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if isinstance(shape, StructureShape):
        for name in shape.required_members:
            if name not in value:
                yield f"{path}{name} is missing"
        for name, each in value.items():
            if name not in shape.members:
                yield f"{path}{name} is unknown"
            else:
                yield from _violations(shape.members[name], each, f"{path}{name}.")
        return
    size = len(value) if hasattr(value, "__len__") else value if isinstance(value, int) else None
    if size is not None and ((least is not None and size < least) or (most is not None and size > most)):
        yield f"{path} has a length or value of {size}, not {least} to {most}"
    if (pattern := shape.metadata.get("pattern")) and not re.fullmatch(pattern, value):
        yield f"{path} does not match {pattern}"
    if (enum := getattr(shape, "enum", None)) and value not in enum:
        yield f"{path} is none of {enum}"
    if isinstance(shape, ListShape):
        for number, each in enumerate(value):
            yield from _violations(shape.member, each, f"{path}{number}.")
    elif isinstance(shape, MapShape):
        for each in value.values():
            yield from _violations(shape.value, each, path)


def _answer(operation: OperationModel, fields: Fields) -> _Answer:
    shape = operation.output_shape
    if found := [*_violations(shape, fields, "")]:
        raise AssertionError(f"{operation.name} answers against its model: {found}")
    payload = shape.serialization.get("payload")
    headers = {
        member.serialization["name"]: str(_written(fields[name]))
        for name, member in shape.members.items()
        if member.serialization.get("location") == "header" and name in fields
    }
    document = {
        name: value
        for name, value in fields.items()
        if not shape.members[name].serialization.get("location") and name != payload
    }
    body = fields.get(payload) if payload else json.dumps(document, default=_written).encode()
    return operation.http["responseCode"], headers, body or b""


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.timestamp()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
