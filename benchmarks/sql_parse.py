"""Throughput of parsing and resolving Flink statements, in one JVM beside this process.

    python benchmarks/sql_parse.py [--statements 10000] [--jsonl FILE]

Without a file the statements are the cases of the test suite, numbered so that each text is different. The
last line compares with the target: 10,000 statements parsed and resolved within 15 s on 2 cores.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil

from lineage_bridge_dagster.sql.flink.names import ClusterName, NameIndex
from lineage_bridge_dagster.sql.flink.parse_cache import ParseCache
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.flink.tree import ParsedText
from lineage_bridge_dagster.sql.flink.views import expand_views

CASES = Path(__file__).parents[1] / "lineage_bridge_dagster_tests" / "sql" / "cases.jsonl"
TARGET_PER_SECOND = 10_000 / 15

T = TypeVar("T")


def timed(label: str, count: int, work: Callable[[], T]) -> tuple[T, float]:
    """Run the work and print its throughput; return its result and seconds."""
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    print(f"{label:<34}{seconds:8.2f} s {count / seconds:12,.0f} statements/s")
    return result, seconds


def main() -> None:
    """Print the measurements."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--statements", type=int, default=10_000, help="statements to parse")
    options.add_argument("--jsonl", type=Path, default=CASES, help="file with a JSON object {sql} per line")
    chosen = options.parse_args()
    sql = [json.loads(line)["sql"] for line in chosen.jsonl.read_text("utf-8").splitlines()]
    count = chosen.statements
    texts = [f"/* {i} */ {sql[i % len(sql)]}" for i in range(count)]
    index = NameIndex(ClusterName(f"env-{i}", f"e{i}", f"lkc-{i}", f"c{i}") for i in range(100))
    cache = ParseCache()

    with FlinkSqlParser() as parser:
        _, start = timed("start, first statement", 1, lambda: parser.parse(["SELECT 1"]))
        lineages, parse = timed("parse", count, lambda: parser.parse(texts))
        memory = psutil.Process(parser.pid).memory_info().rss / 2**20
        sources = [
            ParsedText(lineage, catalog=f"env-{i % 100}", database=f"c{i % 100}")
            for i, lineage in enumerate(lineages)
        ]

        def resolve() -> int:
            found = expand_views(sources, index)
            return sum(index.resolve(path) is not None for e in found for path in (*e.reads, *e.writes))

        resolved, resolving = timed("expand views, resolve names", count, resolve)
    for text, lineage in zip(texts, lineages, strict=True):
        cache.put(text, lineage)
    _, cached = timed("read from the cache", count, lambda: [cache.get(text) for text in texts])

    rejected = sum(line.error is not None for line in lineages)
    total = start + parse + resolving
    print(f"{rejected} rejected, {resolved:,} names resolved; the JVM uses {memory:.0f} MB")
    print(f"from the cache: {parse / cached:.1f} times as fast as parsed")
    print(f"target: {count / total / TARGET_PER_SECOND:.1f} times as fast")


if __name__ == "__main__":
    main()
