"""Calls, time and memory of inventory extracts, compared with a plain paging of the same pages by boto3.

    python benchmarks/collect_inventory.py
    python benchmarks/collect_inventory.py --formats csv,parquet --unmasked
    python benchmarks/collect_inventory.py --tables 2000 --columns 10 --regions 2 --formats csv
    python benchmarks/collect_inventory.py --tables 10000 --formats csv --unmasked --rate 10 --latency 200

Glue is a stand-in behind HTTP in a process of its own (`inventory_glue.py`), and so is each extract: its peak
memory is that of a fresh Python with the collector alone. `plain boto3` reads all pages with the same
concurrency, and drops them. `vs boto3` is the CPU time of an extract in relation to that: it does not depend
on what else the machine does.

First, an extract of a tenth of the tables and one of all show whether memory grows. Then come a second one
after some tables changed, which must make the same calls and write the rows of those tables alone, and a
third one after some were dropped. A line for each other format, masked and unmasked, follows.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from glue_server import GlueProcess

REGIONS = (
    "us-east-1",
    "us-west-2",
    "eu-west-1",
    "eu-central-1",
    "ap-southeast-2",
    "sa-east-1",
    "ca-central-1",
)
FORMATS = ("csv", "csv.gz", "jsonl", "jsonl.gz", "parquet")
_DEFAULT_FORMATS = ("csv", "csv.gz", "jsonl", "parquet")


@dataclass(frozen=True)
class Measured:
    """What a process took for its work.

    Attributes:
        seconds: Of the work alone, without the start of the process.
        peak: The most memory of the process, in MiB; `before` is that before the work.
        files: The rows and bytes of each kind of file.
    """

    seconds: float
    cpu: float
    peak: int
    before: int
    tables: int = 0
    changed: int = 0
    deleted: int = 0
    files: tuple[tuple[str, int, int], ...] = ()

    def rows(self, kind: str) -> int:
        return next(rows for name, rows, _ in self.files if name == kind)


def main() -> None:
    """Print the measurements."""
    chosen = _options()
    regions = list(REGIONS[: chosen.regions])
    tables = chosen.tables // chosen.regions * chosen.regions
    print(f"{tables:,} tables of {chosen.columns} columns in {len(regions)} regions")
    header = ("", "tables", "seconds", "CPU s", "vs boto3", "peak MiB", "grown by", "calls")
    print("{:<26}{:>9}{:>9}{:>8}{:>10}{:>10}{:>10}{:>8}".format(*header))
    with GlueProcess() as process, tempfile.TemporaryDirectory() as folder:

        def serve(count: int) -> Any:
            rate = chosen.rate or None
            return process.InventoryServer(count, chosen.columns, regions, chosen.latency / 1000, rate)

        config = {
            "key": "benchmark",
            "secret": "benchmark",
            "regions": regions,
            "max_concurrency": chosen.concurrency,
            "overlap_seconds": 0,
        }
        if tables // 10 >= len(regions):
            small = serve(tables // 10)
            work = Path(folder, "small")
            _line("extract of a tenth", small, lambda: _extract(small, config, work, "csv", mask=False))
        bench = Bench(serve(tables), config, Path(folder), tables, chosen.columns)
        bench.ranges(chosen.changed, chosen.dropped)
        bench.formats(chosen.formats, (False,) if chosen.unmasked else (False, True))


@dataclass
class Bench:
    """Extracts of one Glue."""

    glue: Any
    config: dict[str, Any]
    folder: Path
    tables: int
    columns: int
    baseline: float = 0.0

    def ranges(self, changed: int, dropped: int) -> None:
        """Measure a first extract, one after some tables changed, and one after some were dropped."""
        regions, concurrency = self.config["regions"], self.config["max_concurrency"]
        plain, pages = _line(
            "plain boto3", self.glue, lambda: _in_process(_page, self.glue.url(), regions, concurrency)
        )
        self.baseline = plain.cpu
        first, calls = self._extract("first extract, csv", "ranges")
        assert first.changed == first.tables == self.tables, first
        assert first.rows("columns") == self.tables * self.columns, first
        _print_files(first)
        self.glue.change(changed)
        # A range ends at a full second.
        time.sleep(1)
        second, again = self._extract(f"second, {changed:,} changed", "ranges")
        assert pages == calls == again, "The calls of an extract are those that read the pages."
        assert (second.tables, second.changed, second.deleted) == (self.tables, changed, 0), second
        assert second.rows("columns") == changed * self.columns, second
        _print_files(second)
        self.glue.drop(dropped)
        third, again = self._extract(f"third, {dropped:,} dropped", "ranges")
        assert calls == again, again
        assert (third.tables, third.deleted) == (self.tables - dropped, dropped), third
        print(f"CPU of the second / first {second.cpu / first.cpu:.2f}, third / first", end=" ")
        print(f"{third.cpu / first.cpu:.2f}; the calls of each, as those of boto3:")
        for (region, operation), count in sorted(calls.items()):
            print(f"{'':<26}{region:<16}{operation:<14}{count:>6,}")

    def formats(self, formats: list[str], masks: tuple[bool, ...]) -> None:
        """Measure a first extract in each format."""
        for mask in masks:
            for format_ in formats:
                if mask or format_ != "csv":
                    label = f"first, {format_}{', masked' if mask else ''}"
                    measured, _ = self._extract(label, f"{format_}-{mask}", format_, mask=mask)
                    _print_files(measured)

    def _extract(
        self, label: str, folder: str, format_: str = "csv", *, mask: bool = False
    ) -> tuple[Measured, Any]:
        work = self.folder / folder
        return _line(
            label,
            self.glue,
            lambda: _extract(self.glue, self.config, work, format_, mask=mask),
            self.baseline,
        )


def _line(
    label: str, glue: Any, work: Callable[[], Measured], baseline: float | None = None
) -> tuple[Measured, Any]:
    """Print what work takes.

    Returns:
        What it took, and the calls that were served by region and operation.
    """
    glue.traffic()
    measured = work()
    traffic = glue.traffic()
    ratio = f"{measured.cpu / baseline:.2f}" if baseline else ""
    refused = f"  {traffic.refused:,} refused" if traffic.refused else ""
    print(
        f"{label:<26}{measured.tables:>9,}{measured.seconds:>9.1f}{measured.cpu:>8.1f}{ratio:>10}"
        f"{measured.peak:>10,}{measured.peak - measured.before:>10,}{traffic.calls.total():>8,}{refused}",
        flush=True,
    )
    return measured, traffic.calls


def _print_files(measured: Measured) -> None:
    for kind, rows, size in measured.files:
        print(f"{'':<26}{kind:<16}{rows:>12,} rows {size:>14,} bytes", flush=True)


def _extract(glue: Any, config: dict[str, Any], folder: Path, format_: str, *, mask: bool) -> Measured:
    name, _, compressed = format_.partition(".")
    chosen = {**config, "format": name, "compress": bool(compressed), "mask": mask}
    return _in_process(_collect, chosen | {"endpoint_url": glue.url(), "output_path": str(folder)})


def _in_process(work: Callable[..., Measured], *arguments: Any) -> Measured:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def _collect(config: dict[str, Any]) -> Measured:
    """Extract, and move the mark."""
    from lineage_bridge_dagster.collector import Extractor

    mark_path = Path(config["output_path"], "mark")
    extractor = Extractor(**config, mark_path=mark_path, mask_key="benchmark")
    before, start, cpu = _peak_mib(), time.perf_counter(), time.process_time()
    extract = extractor.run()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    assert not extract.incomplete, extract.incomplete
    peak = _peak_mib()
    extractor.marks.publish(extract.end)
    files = tuple((each.kind, each.rows, each.size) for each in extract.files)
    for each in extract.files:
        each.path.unlink()
    return Measured(seconds, cpu, peak, before, extract.tables, extract.changed, extract.deleted, files)


def _page(url: str, regions: list[str], concurrency: int) -> Measured:
    """Read all pages with boto3 alone, and drop them."""
    import boto3
    from botocore.config import Config

    keys = {"aws_access_key_id": "benchmark", "aws_secret_access_key": "benchmark"}
    config = Config(max_pool_connections=concurrency, retries={"mode": "adaptive", "max_attempts": 10})
    before, start, cpu = _peak_mib(), time.perf_counter(), time.process_time()
    clients = [
        boto3.client("glue", region_name=region, endpoint_url=url, config=config, **keys)
        for region in regions
    ]

    def read(client: Any, database: str) -> int:
        pages = client.get_paginator("get_tables").paginate(DatabaseName=database)
        return sum(len(page["TableList"]) for page in pages)

    with ThreadPoolExecutor(concurrency * len(regions)) as pool:
        listed = [
            pool.submit(read, client, database["Name"])
            for client in clients
            for database in client.get_databases()["DatabaseList"]
        ]
        tables = sum(each.result() for each in listed)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return Measured(seconds, cpu, _peak_mib(), before, tables)


def _peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tables", type=int, default=100_000, help="in all regions; default 100000")
    options.add_argument("--columns", type=int, default=50, help="of each table; default 50")
    options.add_argument(
        "--regions", type=int, default=5, choices=range(1, len(REGIONS) + 1), help="default 5"
    )
    options.add_argument("--changed", type=int, default=100, help="tables of the second extract")
    options.add_argument("--dropped", type=int, default=50, help="tables that the third one misses")
    options.add_argument("--concurrency", type=int, default=8, help="databases of a region at the same time")
    options.add_argument("--latency", type=float, default=50, help="milliseconds of a call")
    options.add_argument(
        "--rate", type=float, default=0, help="calls a second that a region takes before it throttles"
    )
    options.add_argument(
        "--formats",
        type=lambda text: text.split(","),
        default=list(_DEFAULT_FORMATS),
        help=f"of {', '.join(FORMATS)}; default {','.join(_DEFAULT_FORMATS)}",
    )
    options.add_argument("--unmasked", action="store_true", help="leave masked extracts out")
    chosen = options.parse_args()
    if unknown := set(chosen.formats) - set(FORMATS):
        options.error(f"--formats: {', '.join(sorted(unknown))}")
    return chosen


if __name__ == "__main__":
    main()
