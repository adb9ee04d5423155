"""The command line.

Exit codes: 0 done; 1 something failed, is unknown or was refused; 2 wrong usage or configuration; 3 done, but
coverage was incomplete.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from dotenv import find_dotenv, load_dotenv
from rich.console import Console

from lineage_bridge_dagster.cli.sql import sql
from lineage_bridge_dagster.config.settings import PushSettings, Settings
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError

if TYPE_CHECKING:
    from lineage_bridge_dagster.glue import PushReport
    from lineage_bridge_dagster.lineage.coverage import Coverage
    from lineage_bridge_dagster.lineage.discovery import Discovery

EXIT_FAILED = 1
EXIT_INCOMPLETE = 3

#: For people; results go to stdout.
err = Console(stderr=True, highlight=False, soft_wrap=True)


class _Group(click.Group):
    """Shows a domain error as one clear message, and exits with its code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LineageBridgeError as error:
            err.print(f"Error: {error}", style="red", markup=False)
            ctx.exit(error.exit_code)
        except BrokenPipeError:
            # The reader of a pipe left (`| head`): nothing to say, and nowhere to say it.
            sys.stderr.close()
            ctx.exit(EXIT_FAILED)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lineage-bridge-dagster")
def main() -> None:
    """Upstream lineage of Confluent Tableflow tables, in AWS Glue.

    Reads LINEAGE_BRIDGE_* variables, AWS's own, and a .env file in this folder or above it.

    \b
    Examples:
      lineage-bridge local demo             a whole platform on this machine
      lineage-bridge extract -o lineage_graph.json
      lineage-bridge push --dry-run         what would be written, table by table
    """
    load_dotenv(find_dotenv(usecwd=True))


_GRAPH_HELP = (
    "A lineage_graph.json, or a folder with nodes.parquet and edges.parquet. "
    "Without it, the outside is discovered first."
)


@main.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here instead of to stdout.")
@click.option("--last", type=click.Path(path_type=Path, exists=True), help="Carry over from this one.")
def extract(output: Path | None, last: Path | None) -> None:
    """Discover everything and write lineage_graph.json.

    Coverage is shown on stderr; exits 3 when a scope could not be asked.

    \b
    Examples:
      lineage-bridge extract --output lineage_graph.json
      lineage-bridge extract | jq '.nodes[] | select(.node_type == "catalog_table")'
    """
    from lineage_bridge_dagster.lineage import graph_json

    discovery = _discover(graph_json.load(last) if last else None)
    if output is None:
        click.echo(graph_json.dumps(discovery))
    else:
        graph_json.dump(discovery, output)
        err.print(
            f"Wrote {len(discovery.graph.nodes)} nodes and {len(discovery.graph.edges)} edges to {output}"
        )
    _exit_by_coverage(discovery.coverage)


@main.command()
@click.option("--graph", type=click.Path(path_type=Path), help=_GRAPH_HELP)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here instead of to stdout.")
def chains(graph: Path | None, output: Path | None) -> None:
    """Write every Glue table's upstream chain, one JSON line a table.

    \b
    Examples:
      lineage-bridge chains --graph lineage_graph.json --output chains.jsonl
      lineage-bridge chains | jq -c 'select(.hops | length > 10) | .table'
    """
    from lineage_bridge_dagster.lineage.chains import chains_of, to_json

    discovery = _load_or_discover(graph)
    lines = (
        json.dumps(to_json(chain), ensure_ascii=False)
        for chain in chains_of(discovery.graph, discovery.coverage)
    )
    if output is None:
        for line in lines:
            click.echo(line)
    else:
        from lineage_bridge_dagster.lineage.files import write_atomically

        count = write_atomically(output, (line + "\n" for line in lines))
        err.print(f"Wrote {count} chains to {output}")
    if graph is None or len(discovery.coverage):
        _exit_by_coverage(discovery.coverage)


@main.command()
@click.option("--graph", type=click.Path(path_type=Path), help=_GRAPH_HELP)
@click.option(
    "--table", "tables", multiple=True, metavar="DB.TABLE", help="Only this table; several may be given."
)
@click.option("--dry-run", is_flag=True, help="Show the diff of each table and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option("--parameters/--no-parameters", default=None, help="Write the lineage_bridge.* parameters.")
@click.option("--description/--no-description", default=None, help="Write our block of the description.")
def push(
    graph: Path | None,
    tables: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    parameters: bool | None,
    description: bool | None,
) -> None:
    """Write each table's upstream lineage into its Glue parameters and description.

    A table that is in sync is not written. Somebody else's parameters and words are kept, always.

    \b
    Examples:
      lineage-bridge push --dry-run
      lineage-bridge push --graph lineage_graph.json --table lkc-abc123.orders.v1
      lineage-bridge push --json | jq .counts
    """
    from lineage_bridge_dagster.glue import glue_client, push_tables

    settings = Settings.from_env(os.environ)
    changed = {
        name: value
        for name, value in (("set_parameters", parameters), ("set_description", description))
        if value is not None
    }
    options = PushSettings.model_validate({**settings.push.model_dump(), **changed})
    discovery = _load_or_discover(graph)
    with err.status("Pushing") as status:
        report = push_tables(
            discovery,
            glue_client(settings.aws),
            options,
            tables=tables or None,
            dry_run=dry_run,
            progress=lambda done, total, _result: status.update(f"Pushing {done}/{total}"),
        )
    if as_json:
        click.echo(json.dumps(report.to_json(), ensure_ascii=False))
    else:
        _show_report(report, dry_run)
    if report.failed:
        raise SystemExit(EXIT_FAILED)
    if graph is None or len(discovery.coverage):
        _exit_by_coverage(discovery.coverage)


def _show_report(report: PushReport, dry_run: bool) -> None:
    for result in report.results:
        click.echo(f"{result.status:<10} {result.name}" + (f"  {result.reason}" if result.reason else ""))
        if result.hint and not result.ok:
            click.echo(f"{'':<10} -> {result.hint}")
        if dry_run and result.diff:
            for line in result.diff:
                click.secho(f"    {line}", fg={"+": "green", "-": "red"}.get(line[:1]))
    would = "would be " if dry_run else ""
    click.echo(
        ", ".join(
            f"{count} {would * (status == 'updated')}{status}" for status, count in report.counts.items()
        )
    )


def _discover(last: Discovery | None = None) -> Discovery:
    from lineage_bridge_dagster.discovery import discover

    settings = Settings.from_env(os.environ)
    if not settings.confluent.credentials:
        raise ConfigurationError(
            "No Confluent key is set.",
            hint="Set LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY and ..._SECRET, in the environment or in .env; "
            "or give --graph with a lineage_graph.json.",
        )
    with err.status("Discovering") as status:

        def progress(line: str) -> None:
            status.update(line)
            if not err.is_terminal:
                err.print(line, markup=False)

        return discover(settings, last, progress=progress)


def _load_or_discover(graph: Path | None) -> Discovery:
    from lineage_bridge_dagster.lineage import graph_json

    return _discover() if graph is None else graph_json.load(graph)


def _exit_by_coverage(coverage: Coverage) -> None:
    for report in coverage.incomplete:
        err.print(f"{report.status:<8} {report.scope}  {report.reason}", style="yellow", markup=False)
    err.print(f"Coverage: {len(coverage) - len(coverage.incomplete)} of {len(coverage)} scopes complete")
    if not coverage.complete:
        raise SystemExit(EXIT_INCOMPLETE)


main.add_command(sql)


def _add_local() -> None:
    try:
        from lineage_bridge_dagster.embedded.commands import local
        from lineage_bridge_dagster.embedded.demo import demo
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing.startswith("lineage_bridge_dagster"):
            raise

        @main.command(
            "local",
            context_settings={"ignore_unknown_options": True},
            help="The embedded stack (needs the 'local' extra).",
        )
        @click.argument("_arguments", nargs=-1)
        def unavailable(_arguments: tuple[str, ...]) -> None:
            raise ConfigurationError(
                f"The embedded stack needs the package {missing}.",
                hint="pip install 'lineage-bridge-dagster[local]'",
            )
    else:
        local.add_command(demo)
        main.add_command(local)


_add_local()
