"""How many calls and how long a push takes, against the bare boto3 calls that it can't do without.

    python benchmarks/push_tables.py
    python benchmarks/push_tables.py --tables 100 --concurrency 16

Glue is moto's server, as strict as Glue, in this process: its share of the time is the same on both sides.
The bare calls read all tables by pages and write each back once, as many at a time, with one more parameter:
no lineage, no plan, no version. A second push finds every table in sync and only reads.
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

#: What Glue takes back of what it gave.
_WRITABLE = ("Name", "Description", "TableType", "Parameters", "StorageDescriptor")


def main() -> None:
    """Prints the figures."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tables", type=int, nargs="+", default=[100, 1_000], help="sizes to measure")
    options.add_argument("--concurrency", type=int, default=8, help="tables at once")
    chosen = options.parse_args()
    os.environ |= {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    print(f"{'tables':>7} {'':<24}{'calls':>7}{'s':>9}{'ms a table':>12}{'to the bare':>13}")
    for tables in chosen.tables:
        compare(tables, chosen.concurrency)


def compare(tables: int, concurrency: int) -> None:
    """Measures one size and prints it."""
    discovery = synthetic(tables)
    settings = PushSettings(max_concurrency=concurrency)
    with StrictAws() as aws:
        client = glue_client(
            AwsSettings(region=REGION, endpoint_url=aws.endpoint_url), max_concurrency=concurrency
        )
        _create(client, discovery)
        calls: Counter[str] = Counter()
        client.meta.events.register("before-call.glue", lambda model, **_: calls.update([model.name]))

        def measured(what: str, work: Callable[[], Any], bare: float | None = None) -> float:
            calls.clear()
            start = time.perf_counter()
            work()
            seconds = time.perf_counter() - start
            ratio = f"{seconds / bare:.2f}" if bare else ""
            each = 1000 * seconds / tables
            print(
                f"{tables:>7,} {what:<24}{calls.total():>7,}{seconds:>9.2f}{each:>12.1f}{ratio:>13}  "
                + ", ".join(f"{name} {count:,}" for name, count in sorted(calls.items())),
                flush=True,
            )
            return seconds

        def pushed(wanted: str, **kwargs: Any) -> None:
            report = push_tables(discovery, client, settings, **kwargs)
            found = Counter(str(result.status) for result in report.results)
            assert found == {wanted: tables}, found

        # What is loaded and compiled once is not the push's.
        pushed("updated", dry_run=True)
        reads = measured("bare pages of reads", lambda: _pages(client))
        writes = measured("bare reads and writes", lambda: _write_all(client, concurrency))
        measured("dry run", lambda: pushed("updated", dry_run=True), reads)
        measured("first push", lambda: pushed("updated"), writes)
        measured("second push, in sync", lambda: pushed("unchanged"), reads)


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
        given: Any = {name: table[name] for name in _WRITABLE if name in table}
        given["Parameters"]["bare"] = "1"
        client.update_table(DatabaseName=table["DatabaseName"], TableInput=given, SkipArchive=True)

    with ThreadPoolExecutor(concurrency) as pool:
        list(pool.map(write, _pages(client)))


if __name__ == "__main__":
    main()
