"""`lineage-bridge-extract`: LineageBridge's command of this name, for the scripts that call it."""

from __future__ import annotations

from pathlib import Path

import click

from lineage_bridge_dagster.cli.graph import discovering
from lineage_bridge_dagster.cli.output import err, exit_by_coverage, print_glue_tables
from lineage_bridge_dagster.cli.push import push
from lineage_bridge_dagster.cli.readable import HELP_OPTIONS, ReadableCommand

_OURS = (
    "lineage-bridge-extract has LineageBridge's options --env, --cluster, --output, --no-enrich, "
    "--enrich-only and --push-lineage. For all of this project's, see `lineage-bridge extract --help` and "
    "`lineage-bridge push --help`."
)


class _ExtractCommand(ReadableCommand):
    """Names the options there are when one is unknown."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.format_message()}\n{_OURS}", ctx) from error


@click.command(cls=_ExtractCommand, context_settings=HELP_OPTIONS)
@click.option("--env", "environments", multiple=True, metavar="ENV", help="Environment to read; repeatable.")
@click.option(
    "--cluster", "clusters", multiple=True, metavar="LKC", help="Kafka cluster to read; repeatable."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("./lineage_graph.json"),
    show_default=True,
    help="The graph's file.",
)
@click.option("--no-enrich", is_flag=True, help="Read Confluent only: no Glue tables.")
@click.option(
    "--enrich-only", is_flag=True, help="Read only Glue, and add its tables to the graph in --output."
)
@click.option("--push-lineage", is_flag=True, help="Then push the lineage to Glue, as `lineage-bridge push`.")
@click.option("--metrics", is_flag=True, help="Accepted and ignored: this project reads no metrics.")
@click.option("--metrics-lookback-hours", type=int, help="Accepted and ignored.")
@click.pass_context
def main(
    ctx: click.Context,
    environments: tuple[str, ...],
    clusters: tuple[str, ...],
    output: Path,
    no_enrich: bool,
    enrich_only: bool,
    push_lineage: bool,
    metrics: bool,
    metrics_lookback_hours: int | None,
) -> None:
    """Discover everything and write ./lineage_graph.json, with the options of LineageBridge's command.

    Without --env and --cluster it reads what LINEAGE_BRIDGE_ENVIRONMENTS and LINEAGE_BRIDGE_CLUSTERS name, or
    everything. Exits 3 if a scope could not be read.

    \b
    Examples:
      lineage-bridge-extract --env env-abc123
      lineage-bridge-extract --env env-abc123 --cluster lkc-abc123 --output graph.json --push-lineage
    """
    from lineage_bridge_dagster.catalogs.glue.client import glue_client
    from lineage_bridge_dagster.catalogs.glue.enrichment import enrich
    from lineage_bridge_dagster.discovery.discover import (
        discover,
        discover_confluent_only,
        discovery_settings,
    )
    from lineage_bridge_dagster.lineage import graph_json
    from lineage_bridge_dagster.lineage.sql_policy import limited
    from lineage_bridge_dagster.settings import Settings

    if no_enrich and enrich_only:
        raise click.UsageError(f"--no-enrich and --enrich-only exclude each other.\n{_OURS}")
    if metrics or metrics_lookback_hours is not None:
        err.print("--metrics is ignored: this project reads no metrics of Confluent.", style="yellow")
    if enrich_only:
        enriching = Settings.from_env(groups=["aws", "push"])
        client, sql = glue_client(enriching.aws), enriching.push.sql
        known = limited(graph_json.load(output), sql)
        discovery = enrich(known, client, region=client.meta.region_name, sql=sql)
    else:
        given = {"environments": list(environments), "clusters": list(clusters)}
        settings = discovery_settings(given)
        with discovering() as progress:
            read = discover_confluent_only if no_enrich else discover
            discovery = read(settings, progress=progress)
    graph_json.dump(discovery, output)
    # LineageBridge's own two lines, which scripts look for.
    click.echo(f"Complete: {len(discovery.graph.nodes)} nodes, {len(discovery.graph.edges)} edges")
    click.echo(f"Output: {output}")
    if not no_enrich:
        print_glue_tables(discovery.graph)
    if push_lineage:
        ctx.invoke(push, graph=output)
    elif len(discovery.coverage):
        exit_by_coverage(discovery.coverage)
