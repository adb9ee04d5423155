"""Time to compute chains on Spark and store them as Iceberg tables, compared with one process.

    python benchmarks/chains_spark.py
    python benchmarks/chains_spark.py --tables 1000 --master 'local[4]'

Glue and S3 are moto's server in this process. Both sides compute the chain of every table with the same
function; Spark also writes nodes, edges, coverage and chains, and finds nothing changed the second time.
The fixed cost of Spark, which a run pays once, is listed separately: the start of the session, and a first
write of ten tables.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from synthetic import synthetic

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.config.catalogs import Catalogs
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
    """Print the measurements."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tables", type=int, nargs="+", default=[1_000, 10_000], help="sizes to measure")
    options.add_argument("--master", default="local[2]", help="Spark master")
    chosen = options.parse_args()
    os.environ |= {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    print(f"{'tables':>7} {'':<28}{'hops':>9}{'s':>9}{'hops/s':>10}{'vs one process':>16}")
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
            timed(10, "first write", lambda: write(spark, synthetic(10), "warm_up"))
            for tables in chosen.tables:
                compare(spark, tables)
        finally:
            spark.stop()


def compare(spark: SparkSession, tables: int) -> None:
    """Measure one size."""
    discovery = synthetic(tables)
    alone = timed(tables, "one process", lambda: walk(discovery))[1]
    timed(tables, "Spark, all new", lambda: write(spark, discovery, f"tables_{tables}"), alone)
    timed(tables, "Spark, nothing changed", lambda: write(spark, discovery, f"tables_{tables}"), alone)


def session(catalog: CatalogSettings, master: str) -> SparkSession:
    """A session of the size that the code location uses."""
    config = {
        "spark.master": master,
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "ERROR",
    }
    return spark_session(Catalogs.of(catalog), config, app_name="chains-benchmark")


def walk(discovery: Discovery) -> int:
    """Compute all chains as the JSON of a lineage file; return their hops."""
    return sum(len(to_json(chain)["hops"]) for chain in chains_of(discovery.graph))


def write(spark: SparkSession, discovery: Discovery, namespace: str) -> int:
    """Write the lineage tables; return the hops of all chains."""
    return write_lineage(spark, discovery, namespace=namespace).rows


def timed(tables: int, label: str, work: Callable[[], T], alone: float = 0.0) -> tuple[T, float]:
    """Run the work and print a line; return its result and seconds."""
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    hops = result if isinstance(result, int) else 0
    ratio = f"{seconds / alone:.2f}" if alone else ""
    print(f"{tables:>7,} {label:<28}{hops:>9,}{seconds:>9.2f}{hops / seconds:>10,.0f}{ratio:>16}", flush=True)
    return result, seconds


if __name__ == "__main__":
    main()
