"""Calls and time of a push, compared with the boto3 calls that it cannot do without.

    python benchmarks/push_tables.py
    python benchmarks/push_tables.py --tables 100 --concurrency 16

Glue is moto's server, made as strict as Glue, in this process: it takes the same time on both sides. The
boto3 calls read all tables in pages and write each back once with one more parameter, with the same
concurrency: no lineage, no plan, no version. A second push finds every table in sync and only reads.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from synthetic import synthetic

from lineage_bridge_dagster.config.settings import AwsSettings, PushSettings
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.glue import glue_client
from lineage_bridge_dagster.glue.push import push_tables
from lineage_bridge_dagster_tests.assets.location import create_tables
from lineage_bridge_dagster_tests.assets.world import REGION, World

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

    from lineage_bridge_dagster.lineage.discovery import Discovery

#: The fields of a table that UpdateTable takes.
_WRITABLE = ("Name", "Description", "TableType", "Parameters", "StorageDescriptor")


def main() -> None:
    """Print the measurements."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tables", type=int, nargs="+", default=[100, 1_000], help="sizes to measure")
    options.add_argument("--concurrency", type=int, default=8, help="tables pushed concurrently")
    chosen = options.parse_args()
    os.environ |= {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    print(f"{'tables':>7} {'':<24}{'calls':>7}{'s':>9}{'ms per table':>14}{'vs boto3':>11}")
    for tables in chosen.tables:
        compare(tables, chosen.concurrency)


def compare(tables: int, concurrency: int) -> None:
    """Measure one size."""
    discovery = synthetic(tables)
    settings = PushSettings(max_concurrency=concurrency)
    with StrictAws() as aws:
        client = glue_client(
            AwsSettings(region=REGION, endpoint_url=aws.endpoint_url), max_concurrency=concurrency
        )
        _create(client, discovery)
        calls: Counter[str] = Counter()
        client.meta.events.register("before-call.glue", lambda model, **_: calls.update([model.name]))

        def measure(label: str, work: Callable[[], Any], baseline: float | None = None) -> float:
            calls.clear()
            start = time.perf_counter()
            work()
            seconds = time.perf_counter() - start
            ratio = f"{seconds / baseline:.2f}" if baseline else ""
            each = 1000 * seconds / tables
            print(
                f"{tables:>7,} {label:<24}{calls.total():>7,}{seconds:>9.2f}{each:>14.1f}{ratio:>11}  "
                + ", ".join(f"{name} {count:,}" for name, count in sorted(calls.items())),
                flush=True,
            )
            return seconds

        def push(status: str, **kwargs: Any) -> None:
            report = push_tables(discovery, client, settings, **kwargs)
            found = Counter(str(result.status) for result in report.results)
            assert found == {status: tables}, found

        # Warm up: imports and compiled patterns are not counted.
        push("updated", dry_run=True)
        reads = measure("boto3, pages of reads", lambda: _pages(client))
        writes = measure("boto3, reads and writes", lambda: _write_all(client, concurrency))
        measure("dry run", lambda: push("updated", dry_run=True), reads)
        measure("first push", lambda: push("updated"), writes)
        measure("second push, in sync", lambda: push("unchanged"), reads)


def _create(client: GlueClient, discovery: Discovery) -> None:
    world = World()
    world.graph = discovery.graph
    create_tables(client, world)


def _pages(client: GlueClient) -> list[Any]:
    databases = [found["Name"] for found in client.get_databases()["DatabaseList"]]
    pages = client.get_paginator("get_tables")
    return [
        table
        for database in databases
        for page in pages.paginate(DatabaseName=database)
        for table in page["TableList"]
    ]


def _write_all(client: GlueClient, concurrency: int) -> None:
    def write(table: Any) -> None:
        table_input: Any = {name: table[name] for name in _WRITABLE if name in table}
        table_input["Parameters"]["benchmark"] = "1"
        client.update_table(DatabaseName=table["DatabaseName"], TableInput=table_input, SkipArchive=True)

    with ThreadPoolExecutor(concurrency) as pool:
        list(pool.map(write, _pages(client)))


if __name__ == "__main__":
    main()
