"""How long chains take on Spark, stored as Iceberg tables, against the same walk in one process.

    python benchmarks/chains_spark.py
    python benchmarks/chains_spark.py --tables 1000 --master 'local[4]'

Glue and S3 are moto's server in this process. Both sides compute every table's chain, by the same walk; Spark
also writes nodes, edges, coverage and chains, and the second time finds that nothing changed. Spark's fixed
cost is told apart, for a run pays it once: the session's start, and a first write of ten tables.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from synthetic import synthetic

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.lineage.chains import chains_of, to_json
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.spark.chains.write import write_lineage
from lineage_bridge_dagster.spark.session import spark_session
from lineage_bridge_dagster_tests.assets.world import REGION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


def main() -> None:
    """Prints the figures."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tables", type=int, nargs="+", default=[1_000, 10_000], help="sizes to measure")
    options.add_argument("--master", default="local[2]", help="Spark master")
    chosen = options.parse_args()
    os.environ |= {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    print(f"{'tables':>7} {'':<28}{'hops':>9}{'s':>9}{'hops/s':>10}{'to one process':>16}")
    with StrictAws() as aws:
        aws.client("s3", REGION).create_bucket(Bucket="lake")
        catalog = CatalogSettings(
            warehouse="s3://lake/warehouse",
            region=REGION,
            glue_endpoint=aws.endpoint_url,
            s3_endpoint=aws.endpoint_url,
        )
        spark = timed(0, "start of the session", lambda: session(catalog, chosen.master))[0]
        try:
            timed(10, "first write", lambda: written(spark, synthetic(10), "warm_up"))
            for tables in chosen.tables:
                compare(spark, tables)
        finally:
            spark.stop()


def compare(spark: SparkSession, tables: int) -> None:
    """Measures one size and prints it."""
    discovery = synthetic(tables)
    alone = timed(tables, "walked in one process", lambda: walked(discovery))[1]
    timed(tables, "Spark, all new", lambda: written(spark, discovery, f"of_{tables}"), alone)
    timed(tables, "Spark, nothing changed", lambda: written(spark, discovery, f"of_{tables}"), alone)


def session(catalog: CatalogSettings, master: str) -> SparkSession:
    """A session as small as the code location's own."""
    config = {
        "spark.master": master,
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "ERROR",
    }
    return spark_session(catalog, config, app_name="chains-benchmark")


def walked(discovery: Discovery) -> int:
    """The hops of all chains, each as the JSON that a lineage file holds."""
    return sum(len(to_json(chain)["hops"]) for chain in chains_of(discovery.graph))


def written(spark: SparkSession, discovery: Discovery, namespace: str) -> int:
    """The hops of all chains, as they are in the lineage tables then."""
    return write_lineage(spark, discovery, namespace=namespace).rows


def timed(tables: int, what: str, work: Callable[[], T], alone: float = 0.0) -> tuple[T, float]:
    """Does the work and prints a line; gives its result and seconds."""
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    hops = result if isinstance(result, int) else 0
    ratio = f"{seconds / alone:.2f}" if alone else ""
    print(f"{tables:>7,} {what:<28}{hops:>9,}{seconds:>9.2f}{hops / seconds:>10,.0f}{ratio:>16}", flush=True)
    return result, seconds


if __name__ == "__main__":
    main()
