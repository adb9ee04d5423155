"""Secrets in schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.redaction.redact import redact_schema

SECRET = "4e7a0668e1de434a88c26ae248ab80e7"


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string", "doc": f'password is "{SECRET}"'}, {"type": "string"}),
        (
            {"fields": [{"name": "password", "type": "string", "default": SECRET, "doc": "x"}]},
            {"fields": [{"name": "password", "type": "string", "default": "****"}]},
        ),
        (
            {"properties": {"password": {"type": "string", "default": SECRET, "description": "x"}}},
            {"properties": {"password": {"type": "string", "default": "****"}}},
        ),
        # What decides on columns stays, whatever it is called.
        *(
            (same, same)
            for same in (
                {"fields": [{"name": "password", "type": ["null", "string"], "default": None}]},
                {"properties": {"description": {"type": "string"}, "doc": True}, "required": ["password"]},
                {"fields": [{"name": "status", "type": "string", "default": "new"}]},
            )
        ),
    ],
)
def test_documents_stay_schemas_without_secrets(schema: Any, shown: Any) -> None:
    found = redact_schema(json.dumps(schema))
    assert json.loads(found) == shown
    assert redact_schema(found) == found


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f'string a = 1; // password is "{SECRET}"', "string a = 1;  "),
        (f"/* {SECRET} */ string a = 1;", "  string a = 1;"),
        ('string a = 1 [(doc) = "see http://x"];', 'string a = 1 [(doc) = "see http://x"];'),
        (
            f'string a = 1 [(doc) = "https://me:{SECRET}@x"];',
            'string a = 1 [(doc) = "https://****@x"];',
        ),
    ],
)
def test_protobuf_loses_its_comments(line: str, shown: str) -> None:
    text = f'syntax = "proto3";\nmessage M {{ {line}\n}}'
    assert redact_schema(text) == f'syntax = "proto3";\nmessage M {{ {shown}\n}}'


def test_a_text_that_is_no_schema_does_not_fail() -> None:
    assert redact_schema("[" * 100_000)
    assert redact_schema("") == ""
