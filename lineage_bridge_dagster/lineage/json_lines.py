"""Questions as JSON lines, answered by JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lineage_bridge_dagster.errors import LineageBridgeError


def answer_lines(text: str, answer: Callable[[Any], Mapping[str, object]]) -> Iterator[str]:
    """Answer each line that is not empty, in the same order, with its `id`, or its number if it has none.

    The answer to a line that is not understood is `{"id", "error"}`.

    Args:
        text: JSON objects, separated by line feeds alone: a string of JSON may hold other line separators.
        answer: Answers one document. A `LineageBridgeError` or `ValueError` becomes the line's error.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        name: object = number
        try:
            document = json.loads(line)
            name = document.get("id", number) if isinstance(document, dict) else number
            result = answer(document)
        except (LineageBridgeError, ValueError) as error:
            result = {"error": str(error)}
        except RecursionError:
            result = {"error": "The line is nested too deeply."}
        yield json.dumps({"id": name, **result}, ensure_ascii=False)
