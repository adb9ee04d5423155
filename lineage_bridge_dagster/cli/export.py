"""`lineage-bridge export`: the graph in the formats of others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.graph import graph_option, load_or_discover, output_option
from lineage_bridge_dagster.cli.output import EXIT_FAILED, err, exit_by_coverage
from lineage_bridge_dagster.cli.readable import ReadableGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineage_bridge_dagster.lineage.discovery import Discovery
    from lineage_bridge_dagster.openlineage.emission import EmissionReport, Receiver


sent_option = click.option(
    "--sent",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file that keeps what was sent: the next time, only changes and ends of runs are sent.",
)
end_option = click.option(
    "--end", is_flag=True, help="With --sent: end all runs that are open, and forget them, instead."
)


@click.group(cls=ReadableGroup)
def export() -> None:
    """Write the graph in the formats of others."""


@export.command()
@graph_option
@output_option
@click.option(
    "--account",
    default="",
    metavar="ID",
    help="The AWS account of Glue tables that tell none; by default that of the others.",
)
@click.option("--send", is_flag=True, help="Send the events instead of writing them.")
@click.option("--dry-run", is_flag=True, help="With --send: only count what would be sent.")
@sent_option
@end_option
def openlineage(
    graph: Path | None,
    output: Path | None,
    account: str,
    send: bool,
    dry_run: bool,
    sent: Path | None,
    end: bool,
) -> None:
    """Write or send a run event of OpenLineage for each process and output, one JSON line per event.

    Processes are connectors, Flink statements, ksqlDB queries, Tableflow's tables and mirrors of topics. The
    id of a run depends on its content alone: as long as nothing changes, the same events are written again.

    They are sent to the receivers of OpenLineage's own configuration: OPENLINEAGE_URL, OPENLINEAGE_CONFIG.

    \b
    Examples:
      lineage-bridge export openlineage --graph lineage_graph.json -o events.jsonl
      OPENLINEAGE_URL=http://localhost:5000 lineage-bridge export openlineage --send --sent sent.json
      lineage-bridge export openlineage --send --sent sent.json --end
    """
    if output and send:
        raise click.UsageError("--send writes no file: leave out -o.")
    if (dry_run or sent) and not send:
        raise click.UsageError("--dry-run and --sent go with --send.")
    if end:
        from lineage_bridge_dagster.openlineage.receivers import receivers

        _end(receivers(), dry_run, sent)
        return
    from lineage_bridge_dagster.lineage.sql_policy import limited
    from lineage_bridge_dagster.openlineage.events import events, utf8_json
    from lineage_bridge_dagster.settings import Settings

    # A file may have been written with another setting.
    discovery = limited(load_or_discover(graph), Settings.from_env(groups=["push"]).push.sql)
    lines = (utf8_json(event).decode() for event in events(discovery, account=account))
    if send:
        from lineage_bridge_dagster.openlineage.receivers import receivers

        _send(discovery, receivers(), account, dry_run, sent)
    elif output is None:
        for line in lines:
            click.echo(line)
    else:
        from lineage_bridge_dagster.lineage.files import write_atomically

        count = write_atomically(output, (f"{line}\n" for line in lines))
        err.print(f"Wrote {count} events to {output}")
    if graph is None or len(discovery.coverage):
        exit_by_coverage(discovery.coverage)


@export.command()
@graph_option
@click.option("--dry-run", is_flag=True, help="Only count what would be posted.")
@sent_option
@end_option
def datazone(graph: Path | None, dry_run: bool, sent: Path | None, end: bool) -> None:
    """Post the lineage to the domain of Amazon DataZone, or SageMaker Unified Studio, that is configured.

    An event is posted for each process and output, under the names that link it to imported Glue tables. The
    command waits until the domain has processed them, and tells which tables are linked.

    \b
    Examples:
      LINEAGE_BRIDGE_DATAZONE_DOMAIN=dzd_4abc1defgh2ijk lineage-bridge export datazone --dry-run
      lineage-bridge export datazone --graph lineage_graph.json --sent posted.json
      lineage-bridge export datazone --sent posted.json --end
    """
    from lineage_bridge_dagster.datazone.receiver import datazone_receivers
    from lineage_bridge_dagster.errors import ConfigurationError
    from lineage_bridge_dagster.lineage.sql_policy import limited
    from lineage_bridge_dagster.settings import Settings

    settings = Settings.from_env(groups=["datazone", "push", "aws"])
    found = datazone_receivers(settings.datazone, settings.aws)
    if not found:
        raise ConfigurationError(
            "No DataZone domain is set.", hint="Set LINEAGE_BRIDGE_DATAZONE_DOMAIN=dzd_... to its id."
        )
    if end:
        _end(found, dry_run, sent)
        return
    discovery = limited(load_or_discover(graph), settings.push.sql)
    _send(discovery, found, "", dry_run, sent)
    if graph is None or len(discovery.coverage):
        exit_by_coverage(discovery.coverage)


def _send(
    discovery: Discovery, found: Sequence[Receiver], account: str, dry_run: bool, sent: Path | None
) -> None:
    from lineage_bridge_dagster.openlineage.emission import emit
    from lineage_bridge_dagster.openlineage.sent import NothingKept, SentFile

    kept = SentFile(sent) if sent else NothingKept()
    _show(emit(discovery, found, kept, account=account, dry_run=dry_run))


def _end(found: Sequence[Receiver], dry_run: bool, sent: Path | None) -> None:
    from lineage_bridge_dagster.openlineage.emission import end_all
    from lineage_bridge_dagster.openlineage.sent import SentFile

    if sent is None:
        raise click.UsageError("--end needs --sent: the file keeps which runs are open.")
    _show(end_all(found, SentFile(sent), dry_run=dry_run))


def _show(report: EmissionReport) -> None:
    for receiver in report.receivers:
        click.echo(str(receiver))
        for note in dict.fromkeys(receiver.notes.values()):
            click.echo(f"  {note}")
    if not report.receivers:
        err.print(str(report))
    if not report.ok:
        raise SystemExit(EXIT_FAILED)
