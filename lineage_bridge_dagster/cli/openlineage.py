"""`lineage-bridge openlineage`: receives events of others, and shows what they tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.output import EXIT_FAILED, err
from lineage_bridge_dagster.cli.readable import ReadableGroup
from lineage_bridge_dagster.text import plural

if TYPE_CHECKING:
    from lineage_bridge_dagster.openlineage.incoming.merging import ToldJob


@click.group(cls=ReadableGroup)
def openlineage() -> None:
    """Receive events of OpenLineage that others send, and show what they tell."""


@openlineage.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Where events are kept; discoveries read it if openlineage.paths names it.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=5000, show_default=True)
@click.option(
    "--certificate",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="PEM file with the certificate chain, for TLS.",
)
@click.option(
    "--key", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="PEM file with its key."
)
@click.option("--behind-proxy", is_flag=True, help="A proxy ends TLS, so that the token is not in the clear.")
def listen(
    folder: Path, host: str, port: int, certificate: Path | None, key: Path | None, behind_proxy: bool
) -> None:
    """Receive events by HTTP: POST /api/v1/lineage, and /api/v1/lineage/batch.

    An event is on the disk when it is acknowledged. Anywhere but on this machine alone, senders need the
    bearer token of LINEAGE_BRIDGE_OPENLINEAGE_TOKEN, and TLS.

    \b
    Examples:
      lineage-bridge openlineage listen --folder /var/lib/openlineage
      OPENLINEAGE_URL=http://127.0.0.1:5000 dbt-ol run
    """
    from datetime import timedelta

    from lineage_bridge_dagster.event_sources.event_log import EventLog
    from lineage_bridge_dagster.event_sources.serving import ListenAddress, current_token, serve
    from lineage_bridge_dagster.settings import SettingsReader

    address = ListenAddress(host, port, certificate, key, behind_proxy)
    address.check(current_token())
    max_age = timedelta(days=SettingsReader().openlineage().max_age_days)
    with EventLog(folder, max_age=max_age) as events:
        serve(
            events,
            address,
            current_token,
            started=lambda url: err.print(f"Listening on {url}, writing to {folder}"),
        )


@openlineage.command()
@click.option(
    "--graph",
    type=click.Path(path_type=Path, exists=True),
    required=True,
    help="A lineage_graph.json, or a folder of Parquet files, that the events are joined with.",
)
@click.option("--all", "every", is_flag=True, help="Show jobs that touch nothing in the graph, too.")
@click.argument("paths", nargs=-1, required=True)
def show(graph: Path, every: bool, paths: tuple[str, ...]) -> None:
    """Show which jobs the events of files, folders, patterns or s3:// prefixes tell of, with their datasets.

    A dataset that is in the graph is marked with a plus sign. Exits 1 if an event was refused or a path could
    not be read.

    \b
    Examples:
      lineage-bridge openlineage show --graph lineage_graph.json /var/lib/openlineage
      lineage-bridge openlineage show --graph lineage_graph.json --all events.ndjson
      lineage-bridge openlineage show --graph lineage_graph.json s3://bucket/openlineage
    """
    from functools import partial

    from lineage_bridge_dagster.config.aws import s3_client
    from lineage_bridge_dagster.confluent.connectors.naming import DEFAULT_PORTS
    from lineage_bridge_dagster.event_sources.sources import event_sources, read_told
    from lineage_bridge_dagster.lineage import graph_json
    from lineage_bridge_dagster.settings import Settings

    settings = Settings.from_env(given={"openlineage": {"paths": paths}}, groups=["aws", "openlineage"])
    discovery = graph_json.load(graph)
    of_paths = settings.openlineage.model_copy(update={"topics": []})
    open_s3 = partial(s3_client, settings.aws)
    sources = event_sources(of_paths, settings.confluent, discovery.graph, open_s3)
    told = read_told(discovery, sources, ports=DEFAULT_PORTS)
    shown = [job for job in told.jobs if every or job.connected]
    for job in shown:
        click.echo(job_text(job))
    if hidden := len(told.jobs) - len(shown):
        err.print(f"Not connected with the graph, and shown by --all: {plural(hidden, 'job')}")
    for problem in told.problems:
        err.print(problem, style="yellow", markup=False)
    if told.problems:
        raise SystemExit(EXIT_FAILED)


def job_text(job: ToldJob) -> str:
    """A job with its datasets, one a line."""
    lines = ["/".join(job.name)]
    for verb, datasets in (("reads", job.reads), ("writes", job.writes)):
        for name, joined in sorted(datasets.items()):
            mark = " " if joined.dataset else "+"
            what = joined.dataset or joined.node_id
            lines.append(f"  {mark} {verb} {name.namespace} {name.name}")
            lines.append(f"      {what}" + (f" ({joined.problem})" if joined.problem else ""))
    return "\n".join(lines)
