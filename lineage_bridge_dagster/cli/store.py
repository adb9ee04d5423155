"""`lineage-bridge store`: a graph and its chains as Iceberg tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from lineage_bridge_dagster.cli.graph import graph_option, load_or_discover
from lineage_bridge_dagster.cli.output import err, exit_by_coverage


@click.command()
@graph_option
@click.option(
    "--namespace",
    default="lineage_bridge",
    show_default=True,
    help="The database of the tables. All their nodes are replaced, so two graphs must not share one.",
)
@click.option(
    "--conf",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of Spark's, such as spark.driver.memory=4g. May be given several times.",
)
def store(graph: Path | None, namespace: str, conf: Sequence[str]) -> None:
    """Store nodes, edges, chains and coverage as Iceberg tables, with Spark.

    Writes the same tables as the job materialize_lineage, without Dagster, to the catalog of
    LINEAGE_BRIDGE_CATALOG_* variables. Only what differs from the stored rows is written.

    \b
    Examples:
      lineage-bridge store
      lineage-bridge extract --format parquet --output graph && lineage-bridge store --graph graph
      lineage-bridge store --graph graph --conf spark.driver.memory=4g
    """
    from lineage_bridge_dagster.settings import Settings
    from lineage_bridge_dagster.spark.chains.write import write_lineage
    from lineage_bridge_dagster.spark.session import SparkResource

    settings = [each.partition("=") for each in conf]
    if wrong := [key for key, equals, _ in settings if not (key and equals)]:
        raise click.BadParameter(f"{wrong[0]!r} is not KEY=VALUE.", param_hint="--conf")
    sql = Settings.from_env(groups=["push"]).push.sql
    resource = SparkResource(
        spark_config={key: value for key, _, value in settings}, lineage_catalog="", instance=""
    )
    catalogs = resource.all_catalogs
    catalog = catalogs.writable(catalogs.lineage.name).name
    # A graph that cannot be read should fail before Spark starts.
    discovery = load_or_discover(graph)
    err.print("Starting Spark", markup=False)
    written = write_lineage(
        resource.spark_session,
        discovery,
        catalog=catalog,
        namespace=namespace,
        sql=sql,
        progress=lambda line: err.print(line, markup=False),
    )
    changed = f"{written.changed:,} changed" if written.changed else "none changed"
    err.print(f"{written.tables:,} chains in {catalog}.{namespace}.upstream_chains: {changed}", markup=False)
    if graph is None or len(discovery.coverage):
        exit_by_coverage(discovery.coverage)
