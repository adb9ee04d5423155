"""Which answers are a catalog's own, in the words of real catalogs and of what may stand before one."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests
from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.exceptions import NoSuchTableError

from lineage_bridge_dagster.catalogs.errors import AmbiguousError, CallError, NotFoundError
from lineage_bridge_dagster.catalogs.iceberg.table_errors import (
    concerns_one_table,
    is_catalogs,
    table_errors,
)

CATALOGS: dict[str, dict[str, Any]] = {
    "Iceberg and Polaris": {"message": "Table does not exist: a.b", "type": "NoSuchTableException"},
    "Lakekeeper": {"message": "Not found", "type": "TableNotFound", "stack": ["Error ID: 0197"]},
    "Nessie": {"message": "Table does not exist", "type": "NoSuchTableException", "stack": []},
    "Unity Catalog": {"message": "Schema not found: a", "type": "BaseException", "stack": None},
    "Glue": {"message": "Entity Not Found", "type": "EntityNotFoundException"},
    "without a message": {"message": None, "type": "NotFoundException"},
}
OTHERS = {
    "page": "<html><body>not here</body></html>",
    "text": "Status: 404\nDescription: Not Found\n",
    "nothing": "",
    "null": "null",
    "list": "[]",
    "empty object": "{}",
    "AWS": '{"message": "Missing Authentication Token"}',
    "Azure API Management": '{"statusCode": 404, "message": "Resource not found"}',
    "Spring": '{"timestamp": 1777550400, "status": 404, "error": "Not Found", "path": "/v1"}',
    "Kong": '{"message": "no Route matched with those values", "request_id": "a1"}',
    "Google": '{"error": {"code": 404, "message": "not found", "status": "NOT_FOUND"}}',
    "Apigee": '{"fault": {"faultstring": "Unable to identify proxy", "detail": {}}}',
    "Databricks": '{"error_code": "ENDPOINT_NOT_FOUND", "message": "No API found"}',
    "Confluent": '{"errors": [{"status": "404", "detail": "not found"}]}',
    "without a code": '{"error": {"message": "m", "type": "t"}}',
    "cut off": '{"error": {"message": "m", "type": "t", "code": 404',
}


def error_of(status: int, body: str) -> CallError:
    """The error for an answer to LoadTable."""
    response = requests.Response()
    response.status_code, response.encoding = status, "utf-8"
    response._content = body.encode()
    with pytest.raises(CallError) as raised, table_errors("Loading", "the table lake.a.b"):
        _handle_non_200_response(requests.HTTPError(response=response), {404: NoSuchTableError})
    return raised.value


@pytest.mark.parametrize("body", CATALOGS.values(), ids=CATALOGS)
def test_the_error_of_a_catalog_is_its_own(body: dict[str, Any]) -> None:
    def error(status: int) -> CallError:
        return error_of(status, json.dumps({"error": {**body, "code": status}}))

    assert type(error(404)) is NotFoundError
    for status in (400, 403, 406, 422, 501):
        assert is_catalogs(error(status))
        assert concerns_one_table(error(status))


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_the_error_of_another_is_not_nothing_there(body: str) -> None:
    assert type(error_of(404, body)) is AmbiguousError
    for status in (400, 403, 406, 422, 501):
        error = error_of(status, body)
        assert not is_catalogs(error)
        assert not concerns_one_table(error)
