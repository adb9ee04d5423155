"""Calls, pace and memory of a push, compared with the boto3 calls that it cannot do without.

    python benchmarks/push_tables.py
    python benchmarks/push_tables.py --tables 1000 --concurrency 16 --latency 100
    python benchmarks/push_tables.py --tables 500 --rate 5 --throttled-tables 500

Glue is a stand-in behind HTTP in a process of its own. It answers each call after the latency, in Glue's wire
shape and with its versions (`lineage_bridge_dagster_tests/catalogs/glue/light_glue.py`, which tests hold to
botocore's service model and to the strict Glue). The boto3 calls read all tables in pages and write each back
once with one more parameter, with the same concurrency: no lineage, no plan, no version. A second push finds
every table in sync and only reads. The throttled push has tables of its own: Glue then refuses what exceeds
the rate, after a burst of one second's calls.

`vs boto3` is the time in relation to that of the boto3 calls: pages for what only reads, else reads and
writes. `CPU` is what this process took for a table, and `refused` the share of calls that Glue throttled.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from glue_server import GlueProcess
from synthetic import FIELDS, synthetic

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster_tests.assets.world import REGION
from lineage_bridge_dagster_tests.catalogs.glue.runs import push_to_glue

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

    from lineage_bridge_dagster.lineage.discovery import Discovery

#: The fields of a table that UpdateTable takes.
_WRITABLE = ("Name", "Description", "TableType", "Parameters", "StorageDescriptor")


def main() -> None:
    """Print the measurements."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tables", type=int, default=10_000, help="tables to push")
    options.add_argument("--latency", type=float, default=30, help="milliseconds of a call")
    options.add_argument("--concurrency", type=int, default=8, help="tables pushed concurrently")
    options.add_argument("--rate", type=float, default=20, help="calls a second that a throttled Glue takes")
    options.add_argument(
        "--throttled-tables", type=int, default=1_000, help="tables to push while throttled; 0 for none"
    )
    chosen = options.parse_args()
    os.environ |= {"AWS_ACCESS_KEY_ID": "benchmark", "AWS_SECRET_ACCESS_KEY": "benchmark"}
    header = ("", "tables", "calls a table", "tables/s", "calls/s", "vs boto3", "CPU ms", "refused")
    print("{:<24}{:>8}{:>15}{:>10}{:>9}{:>10}{:>8}{:>9}".format(*header))
    with GlueProcess() as process:
        compare(process.GlueServer(chosen.latency / 1000), chosen.tables, chosen.concurrency)
        if chosen.throttled_tables:
            glue = process.GlueServer(chosen.latency / 1000)
            throttled(glue, chosen.throttled_tables, chosen.concurrency, chosen.rate)


def compare(glue: Any, tables: int, concurrency: int) -> None:
    """Measure boto3's calls, a first push and a second one."""
    discovery = synthetic(tables)
    _create(glue, discovery)
    bare = boto3.client(
        "glue",
        region_name=REGION,
        endpoint_url=glue.url(),
        config=Config(max_pool_connections=concurrency, retries={"mode": "standard"}),
    )
    client = glue_client(AwsSettings(region=REGION, endpoint_url=glue.url()))
    # Warm up: imports and compiled patterns are not counted.
    _push(synthetic(1), client, concurrency, "updated", dry_run=True)
    reads, _ = measure(glue, "boto3: pages of reads", tables, lambda: _pages(bare))
    writes, _ = measure(glue, "boto3: reads and writes", tables, lambda: _write_all(bare, concurrency))
    before = _peak_mib()

    def push(status: str, **options: Any) -> None:
        _push(discovery, client, concurrency, status, **options)

    measure(glue, "dry run", tables, lambda: push("updated", dry_run=True), reads)
    _, first = measure(glue, "first push", tables, lambda: push("updated"), writes)
    _, second = measure(glue, "second push, in sync", tables, lambda: push("unchanged"), reads)
    assert first["UpdateTable"] <= 1.05 * tables, first
    assert second.total() <= max(tables / 90, len(set(_databases(discovery)))), second
    assert not second["UpdateTable"], second
    # One by boto3, and one by the push.
    assert set(glue.versions().values()) == {2}
    print(f"peak memory {_peak_mib():,} MiB; {before:,} MiB before the pushes, with the graph")


def throttled(glue: Any, tables: int, concurrency: int, rate: float) -> None:
    """Measure a first push to a Glue that refuses what exceeds the rate."""
    discovery = synthetic(tables)
    _create(glue, discovery)
    client = glue_client(AwsSettings(region=REGION, endpoint_url=glue.url()))
    glue.throttle(rate)
    label = f"throttled to {rate:g}/s"
    measure(glue, label, tables, lambda: _push(discovery, client, concurrency, "updated"), rate=rate)
    assert set(glue.versions().values()) == {1}


def measure(
    glue: Any,
    label: str,
    tables: int,
    work: Callable[[], Any],
    baseline: float | None = None,
    rate: float | None = None,
) -> tuple[float, Counter[str]]:
    """Print a line.

    Returns:
        The seconds, and the calls by operation.
    """
    glue.traffic()
    start, cpu = time.perf_counter(), time.process_time()
    work()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    traffic = glue.traffic()
    served = traffic.total - traffic.throttled
    ratio = f"{seconds / baseline:.2f}" if baseline else ""
    calls = ", ".join(f"{name} {count:,}" for name, count in sorted(traffic.calls.items()))
    if rate:
        busiest = max(traffic.by_second.values())
        calls += f"; {served / seconds / rate:.0%} of the rate, at most {busiest} calls in a second"
    print(
        f"{label:<24}{tables:>8,}{traffic.total / tables:>15.3f}{tables / seconds:>10.0f}"
        f"{served / seconds:>9.1f}{ratio:>10}{1000 * cpu / tables:>8.1f}{traffic.refused_share:>9.1%}"
        f"  {calls}",
        flush=True,
    )
    return seconds, traffic.calls


def _push(
    discovery: Discovery, client: GlueClient, concurrency: int, status: str, *, dry_run: bool = False
) -> None:
    report = push_to_glue(discovery, client, PushSettings(max_concurrency=concurrency), dry_run=dry_run)
    found = Counter(str(result.status) for result in report.results)
    assert found == {status: len(report.results)}, found


def _create(glue: Any, discovery: Discovery) -> None:
    glue.add_tables(list(_tables(discovery)))


def _tables(discovery: Discovery) -> Iterator[tuple[str, dict[str, Any]]]:
    """The database and the `TableInput` of each table, as Tableflow creates it."""
    for node in discovery.graph.of_kind(GlueTableNode):
        place = GlueTableNode.of(node).shown_place
        location = f"s3://bucket/{place.database}/{place.table}"
        columns = [{"Name": f"field_{number}", "Type": "string", "Comment": ""} for number in range(FIELDS)]
        yield (
            place.database,
            {
                "Name": place.table,
                "Description": "Kept by the data team.",
                "TableType": "EXTERNAL_TABLE",
                "Parameters": {
                    "table_type": "ICEBERG",
                    "metadata_location": f"{location}/metadata/00007-{place.table}.metadata.json",
                    "previous_metadata_location": f"{location}/metadata/00006-{place.table}.metadata.json",
                    "owner_note": "hands off",
                },
                "StorageDescriptor": {"Location": location, "Columns": columns},
            },
        )


def _databases(discovery: Discovery) -> Iterable[str]:
    return (GlueTableNode.of(node).shown_place.database for node in discovery.graph.of_kind(GlueTableNode))


def _pages(client: Any) -> list[Any]:
    databases = [found["Name"] for found in client.get_databases()["DatabaseList"]]
    pages = client.get_paginator("get_tables")
    return [
        table
        for database in databases
        for page in pages.paginate(DatabaseName=database)
        for table in page["TableList"]
    ]


def _write_all(client: Any, concurrency: int) -> None:
    def write(table: Any) -> None:
        table_input: Any = {name: table[name] for name in _WRITABLE if name in table}
        table_input["Parameters"]["benchmark"] = "1"
        client.update_table(DatabaseName=table["DatabaseName"], TableInput=table_input, SkipArchive=True)

    with ThreadPoolExecutor(concurrency) as pool:
        list(pool.map(write, _pages(client)))


def _peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
