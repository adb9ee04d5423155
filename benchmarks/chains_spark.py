"""Time, CPU time and memory to compute chains and store them as Iceberg tables with Spark, step by step.

    python benchmarks/chains_spark.py
    python benchmarks/chains_spark.py --tables 1000 100000 --master 'local[4]'
    python benchmarks/chains_spark.py --remote sc://localhost:15002
    python benchmarks/chains_spark.py --tables 143000

For each size: everything new, nothing changed, a discovery that found the same later, one that found a commit
to every table, and one more table. The first two are done again in another namespace, so that there are
figures of a cold session and of a warm one. Glue and S3 are moto's server in a process of its own, whose CPU
time and memory are not counted, nor are those of a Spark Connect server, which must be on this machine with
any AWS credentials in its environment. Discoveries have their SQL limited, as stored ones do. CPU time and
peak memory are those of this process and all else that it starts.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import get_context
from typing import TYPE_CHECKING

from glue_server import GlueProcess
from process_tree import ProcessTree
from synthetic import synthetic

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.lineage.catalog_tables import tables_of
from lineage_bridge_dagster.lineage.chains import chains_of, to_json
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.spark.chains.write import write_lineage
from lineage_bridge_dagster.spark.session import spark_session
from lineage_bridge_dagster_tests.assets.world import REGION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main() -> None:
    """Print the measurements."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tables", type=int, nargs="+", default=[1_000, 10_000], help="sizes to measure")
    options.add_argument("--master", default="local[2]", help="Spark master")
    options.add_argument("--memory", default="1g", help="memory of the driver")
    options.add_argument("--remote", default="", help="a Spark Connect server on this machine")
    chosen = options.parse_args()
    os.environ |= {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    with ProcessTree(os.getpid()) as tree:
        bench = Bench(tree)
        print(f"{'tables':>9} {'':<48}{'hops':>11}{'s':>9}{'CPU s':>9}{'peak MB':>9}")
        with bench.step(0, "start of the session"), contextlib.ExitStack() as closing:
            spark = closing.enter_context(sessions(chosen, tree))
            kept = closing.pop_all()
        with kept:
            for tables in chosen.tables:
                measure(bench, spark, tables)


class Bench:
    """Prints a line for each step: its time, and the CPU time and the peak memory of the process tree."""

    def __init__(self, tree: ProcessTree) -> None:
        self._tree = tree

    @contextlib.contextmanager
    def step(self, tables: int, label: str) -> Iterator[Callable[[int], None]]:
        """Measure the block, which may report a number of hops."""
        hops: list[int] = []
        self._tree.peak_bytes = 0
        start, cpu = time.perf_counter(), self._tree.cpu_seconds
        yield hops.append
        seconds = time.perf_counter() - start
        # The next sample has the CPU time of the end.
        time.sleep(0.5)
        self.print(tables, label, sum(hops), seconds, self._tree.cpu_seconds - cpu, self._tree.peak_bytes)

    def print(
        self, tables: int, label: str, hops: int, seconds: float, cpu: float = 0.0, peak: int = 0
    ) -> None:
        """Print a line; what is 0 is left out."""
        used, peak_mb = (f"{cpu:.1f}" if cpu else ""), (f"{peak / 1e6:,.0f}" if peak else "")
        count = f"{hops:,}" if hops else ""
        print(f"{tables:>9,} {label:<48}{count:>11}{seconds:>9.2f}{used:>9}{peak_mb:>9}", flush=True)


def measure(bench: Bench, spark: SparkSession, tables: int) -> None:
    """Measure one size."""
    with bench.step(tables, "building the discovery"):
        discovery = limited(synthetic(tables), "redacted")
    with bench.step(tables, "one process, as JSON") as hops:
        hops(sum(len(to_json(chain)["hops"]) for chain in chains_of(discovery.graph)))
    later = replace(discovery, discovered_at="2031-01-01T00:00:00Z")
    for warmth in ("cold", "warm"):
        namespace = f"bench_{uuid.uuid4().hex[:8]}"
        store(bench, spark, tables, f"{warmth}: all new", discovery, namespace)
        store(bench, spark, tables, f"{warmth}: nothing changed", discovery, namespace)
    store(bench, spark, tables, "the same, discovered later", later, namespace)
    del later
    store(bench, spark, tables, "every table committed to", committed(discovery), namespace)
    more = committed(limited(synthetic(tables + 1), "redacted"))
    store(bench, spark, tables, "one more table", more, namespace)


def committed(discovery: Discovery) -> Discovery:
    """The same after a commit to every table, as Glue tells of it."""
    graph = Graph(discovery.graph.nodes.values(), discovery.graph.edges.values())
    for table in list(tables_of(graph)):
        path = f"s3://lake/{table.node_id}/metadata/00002.metadata.json"
        graph.nodes[table.node_id] = table.with_attributes(
            version_id="2",
            update_time="2031-01-01T00:00:00Z",
            parameters={**table.attributes.get("parameters", {}), "metadata_location": path},
        )
    return replace(discovery, graph=graph)


def store(
    bench: Bench, spark: SparkSession, tables: int, label: str, discovery: Discovery, namespace: str
) -> None:
    """Store the chains of all tables, and print each step of it."""
    steps: list[tuple[str, float]] = []
    began = time.perf_counter()

    def progress(line: str) -> None:
        steps.append((line.rpartition(" (")[0], time.perf_counter()))

    with bench.step(tables, label):
        write_lineage(spark, discovery, namespace=namespace, progress=progress)
    for line, at in steps:
        bench.print(tables, f"  {line.partition(':')[0]}", 0, at - began)
        began = at


@contextlib.contextmanager
def sessions(chosen: argparse.Namespace, tree: ProcessTree) -> Iterator[SparkSession]:
    """A session of the size that the code location uses, or one of a Spark Connect server."""
    with GlueProcess(ctx=get_context("spawn")) as process:
        lake = process.LakeServer(REGION)
        # As Glue and S3 are elsewhere.
        tree.ignore(lake.pid())
        endpoint = lake.url()
        catalog = CatalogSettings(
            warehouse="s3://lake/warehouse", region=REGION, glue_endpoint=endpoint, s3_endpoint=endpoint
        )
        local = {
            "spark.master": chosen.master,
            "spark.driver.memory": chosen.memory,
            "spark.sql.shuffle.partitions": "4",
            "spark.log.level": "ERROR",
        }
        config = {"spark.remote": chosen.remote} if chosen.remote else local
        spark = spark_session(Catalogs.of(catalog), config, app_name="chains-benchmark")
        try:
            yield spark
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
