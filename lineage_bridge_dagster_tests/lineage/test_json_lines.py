"""Questions as JSON lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.json_lines import answer_lines


def echo(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise ConfigurationError("A line is not an object.", hint="Write {}.")
    return {"text": document["text"]} if "text" in document else {"fields": len(document)}


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ('{"id": "a", "text": "x"}\n\n{"text": "y"}\n', [{"id": "a", "text": "x"}, {"id": 3, "text": "y"}]),
        ('{"id": 1}\r\n{"id": 2}\r\n', [{"id": 1, "fields": 1}, {"id": 2, "fields": 1}]),
        *((f'{{"text": "a{space}b"}}\n', [{"id": 1, "text": f"a{space}b"}]) for space in "\u2028\u2029\x85"),
    ],
)
def test_a_line_ends_with_a_line_feed_alone(text: str, answers: list[Any]) -> None:
    assert [json.loads(line) for line in answer_lines(text, echo)] == answers


@pytest.mark.parametrize(
    ("line", "error"), [("{", "Expecting"), ("[1]", "is not an object"), ("[" * 100_000, "nested too deeply")]
)
def test_a_line_that_is_not_understood_costs_no_other(line: str, error: str) -> None:
    first, second = map(json.loads, answer_lines(f'{line}\n{{"id": 7}}', echo))
    assert first["id"] == 1
    assert error in first["error"]
    assert second == {"id": 7, "fields": 1}
