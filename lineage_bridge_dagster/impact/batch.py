"""Many worlds, each with a change, as JSON lines -> reports as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from lineage_bridge_dagster.impact.analysis import impact
from lineage_bridge_dagster.impact.files import read_case
from lineage_bridge_dagster.impact.render.json_report import report
from lineage_bridge_dagster.lineage.json_lines import answer_lines
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.flink.tree import ParsedText


def report_lines(text: str) -> Iterator[str]:
    """A report for each line `{"id", "world", "change"}` that is not empty, with its `id`, in the same order.

    One JVM parses the SQL of all. The report of a line that is not understood is `{"id", "error"}`.
    """
    with ExitStack() as stack:
        parsers: list[FlinkSqlParser] = []

        def parse(texts: Sequence[str]) -> list[ParsedText]:
            if not parsers:
                parsers.append(stack.enter_context(FlinkSqlParser()))
            return list(parsers[0].parse_trees(texts))

        def answer(document: Any) -> dict[str, Any]:
            world, changes = read_case(document)
            found = impact(world, changes.changes, parse)
            return report(replace(found, gaps=(*changes.gaps, *found.gaps)))

        yield from answer_lines(text, answer)
