"""Questions as JSON lines, answered by JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lineage_bridge_dagster.errors import LineageBridgeError


def answer_lines(lines: Iterable[str], answer: Callable[[Any], Mapping[str, object]]) -> Iterator[str]:
    """Answer each line that is not empty, in the same order, with its `id`, or its number if it has none.

    The answer to a line that is not understood is `{"id", "error"}`.

    Args:
        lines: JSON objects.
        answer: Of a document. A `LineageBridgeError` or `ValueError` becomes the line's error.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name: object = number
        try:
            document = json.loads(line)
            name = document.get("id", number) if isinstance(document, dict) else number
            result = answer(document)
        except (LineageBridgeError, ValueError) as error:
            result = {"error": str(error)}
        yield json.dumps({"id": name, **result}, ensure_ascii=False)
