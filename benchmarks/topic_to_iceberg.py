"""Rows a second, memory, files and commits of topics that become Iceberg tables, beside Iceberg's own sink.

    python benchmarks/topic_to_iceberg.py --records 1000000
    python benchmarks/topic_to_iceberg.py --records 3333333 10000000
    python benchmarks/topic_to_iceberg.py --records 1000000 --topics 200 --partitions 2 --only append
    python benchmarks/topic_to_iceberg.py --records 2000000 --skew 0.5 --only append upsert

A broker of its own gets topics of random Avro records, compressed with LZ4. Then each loader reads the same
topics from their beginning, in a process of its own and alone: ours appending, ours upserting by the record
key, and Apache Iceberg's Kafka Connect sink appending (`iceberg_connect.py` has its settings). The tables are
in local files, and an Iceberg REST catalog has their metadata. Our tables also have the record's metadata,
its raw key and its raw value (without `--no-raw`); the sink's have the value's fields alone.

Time, `s`, runs from when a loader is ready, its JVM still cold: our Spark session is up, or the sink's tasks
run. It ends with the last commit. The sink commits every so many seconds, however much it has read, and waits
for its control topic besides. So that neither that wait nor the start counts, `rows/s` is the rate of a
loader that is warm and works: from its first commit with a quarter of the records to the last one within 90%
of its CPU time, or from start to end if that is less than ten seconds. `per CPU` are the records of a second
of CPU time between the same commits. `CPU s` is all the user and system time of the process with its children
since they were ready, `memory` their peak memory. Neither counts the broker and the catalog. A machine that
does other things as well makes all rates noisy, CPU times less so; the load average is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import iceberg_connect
from orders import SCHEMAS, Orders, broker, create_topics, fill
from process_tree import ProcessTree
from topic_loader import Load

from lineage_bridge_dagster.embedded.ports import is_free
from lineage_bridge_dagster.embedded.rest.catalogs import Catalog, CatalogServer

LOADERS = ("append", "upsert", "sink")

_CATALOG = "lake"
_FILE_IO = "org.apache.iceberg.hadoop.HadoopFileIO"
_SINK_SECONDS = 3600.0
#: Share of the records after which a loader is warm.
_WARM_UP = 0.25
#: Shorter than that, the time between two commits says little, and all the time is taken.
_WARM_SECONDS = 10.0
#: Share of its CPU time that the sink uses before it only waits for its last commit, at least.
_WORK = 0.9
_HEADER = ("loader", "records", "rows/s", "vs sink", "s", "memory", "CPU s", "per CPU", "vs sink", "files",
           "commits")  # fmt: skip
_LINE = "{:<8}{:>12}{:>10}{:>9}{:>8}{:>11}{:>8}{:>9}{:>9}{:>8}{:>9}"


@dataclass(frozen=True, slots=True)
class Commits:
    """The snapshots of tables: their times in epoch seconds, with the records added by each."""

    times: list[tuple[float, int]]
    data_files: int
    delete_files: int
    rows: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a loader took."""

    loader: str
    records: int
    seconds: float
    rate: float
    per_cpu: float
    peak_bytes: int
    cpu_seconds: float
    commits: Commits
    rows: int

    @classmethod
    def of(
        cls, loader: str, done: list[tuple[float, int]], commits: Commits, rows: int, tree: ProcessTree
    ) -> Self:
        """What a loader took.

        Args:
            loader: its name.
            done: when it was ready, and when records were loaded, in epoch seconds; records until then.
            commits: its commits.
            rows: of its tables.
            tree: its process.
        """
        (ready, _), (end, records) = done[0], done[-1]
        worked = tree.busy_until(ready, _WORK)
        warm = [each for each in done if each[1] >= _WARM_UP * records and each[0] <= worked]
        is_long = warm and warm[-1][0] - warm[0][0] >= _WARM_SECONDS
        used = warm if is_long else done
        (start, before), (stop, after) = used[0], used[-1]
        loaded = after - before
        return cls(
            loader,
            records,
            end - ready,
            loaded / (stop - start),
            loaded / tree.cpu_between(start, stop),
            tree.peak_bytes,
            tree.cpu_between(ready, end),
            commits,
            rows,
        )


class Stand:
    """The broker and the catalog that all loaders share."""

    def __init__(self, folder: Path, stack: ExitStack, options: argparse.Namespace) -> None:
        self.folder, self.options = folder, options
        self.bootstrap = stack.enter_context(broker(folder)).address
        warehouse = f"file://{folder}/warehouse"
        # The sink and Spark write the files, and the catalog the metadata, each on this machine's disk.
        catalog = Catalog.jdbc(_CATALOG, folder / "catalog.db", warehouse)
        local = Catalog(_CATALOG, {**catalog.properties, "io-impl": _FILE_IO})
        server = stack.enter_context(CatalogServer([local], s3_endpoint="http://127.0.0.1:9"))
        self.catalog = server.urls[_CATALOG]
        self.registry = stack.enter_context(iceberg_connect.SchemaServer(SCHEMAS)).url
        self.warehouse = warehouse

    @property
    def catalog_settings(self) -> dict[str, Any]:
        """The catalog as fields of CatalogSettings."""
        files = {"io-impl": _FILE_IO}
        return {"type": "rest", "uri": self.catalog, "warehouse": self.warehouse, "properties": files}

    def get(self, path: str) -> Any:
        """Ask the catalog; None for what does not exist."""
        try:
            with urllib.request.urlopen(f"{self.catalog}/v1/{path}", timeout=30) as response:  # noqa: S310
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def commits(self, namespace: str, tables: list[str]) -> Commits:
        """The commits to tables; those that do not exist have none."""
        times, data_files, delete_files, rows = [], 0, 0, 0
        for table in tables:
            found = self.get(f"namespaces/{namespace}/tables/{urllib.parse.quote(table)}")
            snapshots = found["metadata"].get("snapshots", []) if found else []
            for snapshot in snapshots:
                added = int(snapshot["summary"].get("added-records", 0))
                times.append((snapshot["timestamp-ms"] / 1000, added))
            if snapshots:
                last = max(snapshots, key=lambda snapshot: int(snapshot["sequence-number"]))["summary"]
                data_files += int(last["total-data-files"])
                delete_files += int(last["total-delete-files"])
                rows += int(last["total-records"])
        return Commits(sorted(times), data_files, delete_files, rows)

    def post_namespace(self, namespace: str) -> None:
        """Create a namespace."""
        request = urllib.request.Request(  # noqa: S310 - loopback
            f"{self.catalog}/v1/namespaces",
            json.dumps({"namespace": [namespace], "properties": {}}).encode(),
            {"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=30).close()  # noqa: S310


def main() -> None:
    """Print the measurements."""
    chosen = _options().parse_args()
    only = set(chosen.only or LOADERS)
    # An end by SIGTERM ends the broker and the loaders too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack:
        scratch = tempfile.TemporaryDirectory(prefix="topic-to-iceberg-", dir=chosen.folder)
        stand = Stand(Path(stack.enter_context(scratch)), stack, chosen)
        for records in chosen.records:
            orders = Orders(
                records,
                chosen.record_bytes,
                chosen.distinct_keys,
                chosen.skew,
                chosen.partitions,
                chosen.topics,
            )
            started = time.perf_counter()
            fill(stand.bootstrap, orders)
            print(
                f"{records:,} records of {orders.record_bytes} bytes, {orders.distinct_keys:,} keys"
                f"{f', {orders.skew:.0%} with one key' if orders.skew else ''}, {orders.topics} topics of "
                f"{orders.partitions} partitions, written in {time.perf_counter() - started:.0f} s; "
                f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
            print(_LINE.format(*_HEADER))
            of_sink: Result | None = None
            # The sink goes first, so that the others' ratio can be printed beside them.
            for loader in ("sink", "append", "upsert"):
                if loader in only:
                    result = measure(stand, loader, orders)
                    if loader == "sink":
                        of_sink = result
                    show(result, of_sink)


def measure(stand: Stand, loader: str, orders: Orders) -> Result:
    """Run a loader on the topics."""
    run = _run_sink if loader == "sink" else _run_ours
    return run(stand, loader, orders)


def show(result: Result, of_sink: Result | None) -> None:
    """Print a line."""
    ratios = ("", "")
    if of_sink is not None and result.loader != "sink":
        ratios = (f"{result.rate / of_sink.rate:.2f}", f"{result.per_cpu / of_sink.per_cpu:.2f}")
    line = _LINE.format(
        result.loader,
        f"{result.records:,}",
        f"{result.rate:,.0f}",
        ratios[0],
        f"{result.seconds:.0f}",
        f"{result.peak_bytes / 2**20:,.0f} MiB",
        f"{result.cpu_seconds:.0f}",
        f"{result.per_cpu:,.0f}",
        ratios[1],
        result.commits.data_files,
        len(result.commits.times),
    )
    deletes = f" +{result.commits.delete_files} deletes" if result.commits.delete_files else ""
    print(f"{line}  {result.rows:,} rows{deletes}, load {os.getloadavg()[0]:.1f}", flush=True)


def _run_ours(stand: Stand, loader: str, orders: Orders) -> Result:
    options = stand.options
    namespace = f"{loader}_{orders.records}"
    load = Load(
        bootstrap=stand.bootstrap,
        topics=orders.names,
        catalog=stand.catalog_settings,
        namespace=namespace,
        location=f"{stand.warehouse}/{namespace}",
        raw_columns=not options.no_raw,
        properties=dict(entry.split("=", 1) for entry in options.properties),
        mode="upsert" if loader == "upsert" else "append",
        max_records=options.max_records,
        threads=options.threads,
        spark={
            "spark.master": options.master,
            "spark.driver.memory": options.memory,
            **dict(entry.split("=", 1) for entry in options.conf),
        },
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[1:])}
    program = str(Path(__file__).with_name("topic_loader.py"))
    with ExitStack() as stack:
        log = stack.enter_context((stand.folder / f"{namespace}.log").open("w"))
        process = subprocess.Popen(
            [sys.executable, program, load.to_json()],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
        )
        stack.callback(_end, process)
        tree = stack.enter_context(ProcessTree(process.pid))
        events: dict[str, dict[str, Any]] = {}
        done: list[tuple[float, int]] = []
        assert process.stdout is not None
        for line in process.stdout:
            if not line.startswith("{"):
                # Of the JVM, whose options may have it print something.
                continue
            event = json.loads(line)
            events[event["event"]] = event
            if event["event"] in ("ready", "step"):
                done.append((event["at"], (done[-1][1] if done else 0) + event.get("rows", 0)))
            if options.verbose:
                print("  ", line.rstrip(), flush=True)
        if process.wait() or "done" not in events:
            raise RuntimeError((stand.folder / f"{namespace}.log").read_text()[-4000:])
    commits = stand.commits(namespace, orders.names)
    rows = int(events["done"]["rows"])
    assert done[-1][1] == orders.records, (done, orders.records)
    assert loader != "append" or rows == orders.records, (rows, orders.records)
    return Result.of(loader, done, commits, rows, tree)


def _run_sink(stand: Stand, loader: str, orders: Orders) -> Result:
    options = stand.options
    namespace = f"{loader}_{orders.records}"
    stand.post_namespace(namespace)
    create_topics(stand.bootstrap, [namespace], 1)
    port = next(port for port in range(32_000, 33_000) if is_free(port))
    command = iceberg_connect.command(
        stand.folder / namespace,
        bootstrap=stand.bootstrap,
        topics=orders.names,
        namespace=namespace,
        catalog={"type": "rest", "uri": stand.catalog, "warehouse": stand.warehouse, "io-impl": _FILE_IO},
        registry=stand.registry,
        rest_port=port,
        tasks=options.sink_tasks,
        commit_seconds=options.sink_commit_seconds,
    )
    tables = [iceberg_connect.table_of(topic, namespace).partition(".")[2] for topic in orders.names]
    with ExitStack() as stack:
        path = stand.folder / f"{namespace}.log"
        log = stack.enter_context(path.open("w"))
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        stack.callback(_end, process)
        tree = stack.enter_context(ProcessTree(process.pid))
        _wait(process, path, lambda: iceberg_connect.running(port))
        ready = time.time()
        _wait(
            process,
            path,
            lambda: iceberg_connect.running(port) and stand.commits(namespace, tables).rows >= orders.records,
        )
    commits = stand.commits(namespace, tables)
    assert commits.rows == orders.records, commits
    done = [(ready, 0)]
    for at, added in commits.times:
        done.append((at, done[-1][1] + added))
    return Result.of(loader, done, commits, commits.rows, tree)


def _wait(process: subprocess.Popen[bytes], log: Path, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SINK_SECONDS
    while not done():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(log.read_text()[-4000:])
        time.sleep(0.5)


def _end(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = options.add_argument
    add("--records", type=int, nargs="+", default=[1_000_000], help="sizes to measure, in records")
    add("--record-bytes", type=int, default=500, help="size of a record's value")
    add("--distinct-keys", type=int, default=1_000_000, help="keys that records are drawn from")
    add("--partitions", type=int, default=8, help="partitions of a topic")
    add("--topics", type=int, default=1, help="topics that the records are spread over, in one application")
    add("--skew", type=float, default=0.0, help="share of the records that have the same key, from 0 to 1")
    add("--only", nargs="+", choices=LOADERS, help="loaders to measure; all by default")
    add("--max-records", type=int, default=1_000_000, help="records that a step of ours reads at most")
    add("--threads", type=int, default=1, help="tables that ours loads at once")
    add("--master", default="local[2]", help="Spark master")
    add("--memory", default="2g", help="heap of our driver; the sink's worker has 2 GB")
    add("--conf", nargs="*", default=[], metavar="NAME=VALUE", help="further configuration of Spark")
    add("--no-raw", action="store_true", help="our tables without the raw key and value")
    add("--properties", nargs="*", default=[], metavar="NAME=VALUE", help="of our tables")
    add("--sink-tasks", type=int, default=2, help="tasks of the sink")
    add("--sink-commit-seconds", type=float, default=10, help="time between the sink's commits")
    add("--folder", type=Path, help="where topics and tables go, about 2 KB a record")
    add("--verbose", action="store_true", help="print each step of ours")
    return options


if __name__ == "__main__":
    main()
