"""`lineage-bridge collect`: an inventory extract of Glue as files."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lineage_bridge_dagster.cli.output import EXIT_INCOMPLETE, err


@click.command()
@click.option(
    "-c",
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON configuration with the keys of KADA's Glue collector; each key is also a variable, such as "
    "LINEAGE_BRIDGE_COLLECTOR_REGIONS.",
)
@click.option(
    "-n",
    "--name",
    default="glue",
    show_default=True,
    help="First part of the names of files and of the mark.",
)
@click.option(
    "--hwm-path",
    metavar="PLACE",
    default="",
    help="Folder of NAME_hwm.txt, by default this one, or s3://bucket/prefix.",
)
@click.option("--start", metavar="TIME", help="Start of the range, in UTC; by default the mark.")
@click.option("--end", metavar="TIME", help="End of the range, in UTC; by default now.")
@click.option(
    "--graph",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A lineage_graph.json, to extract lineage as well.",
)
@click.option("--no-publish", is_flag=True, help="Leave the mark where it is.")
@click.option("--test-connection", is_flag=True, help="Only try the calls of an extract on each region.")
def collect(
    config: Path | None,
    name: str,
    hwm_path: str,
    start: str | None,
    end: str | None,
    graph: Path | None,
    no_publish: bool,
    test_connection: bool,
) -> None:
    """Extract the inventory of Glue to files: what changed since the last mark, and all identifiers.

    An extract is complete once its manifest exists. Its files are then uploaded to the landing place, if the
    configuration names one, and the mark moves forward. Progress goes to stderr, the names of the files to
    stdout.

    Keep secrets out of the configuration file: set each as a variable, in the environment or in an AWS
    Secrets Manager secret that the file names. `lineage-bridge iam-policy --collector` prints what to grant.

    Exits 0 if everything was read; 3 if the files are complete, except for a region, a database or tags that
    could not be read; 1 if nothing could be read or uploaded; 2 for wrong options or settings. After 1 or 2,
    the mark has not moved.

    \b
    Examples:
      lineage-bridge collect -c kada_glue_extractor_config.json -n glue --test-connection
      lineage-bridge collect -c kada_glue_extractor_config.json -n glue
      LINEAGE_BRIDGE_COLLECTOR_REGIONS=us-east-1,eu-west-1 lineage-bridge collect --no-publish
      lineage-bridge collect -c kada_glue_extractor_config.json --hwm-path s3://acme-landing/marks
      lineage-bridge collect -c kada_glue_extractor_config.json --start "1970-01-01 00:00:00"
      lineage-bridge collect -c kada_glue_extractor_config.json --graph lineage_graph.json
    """
    from lineage_bridge_dagster.collector import Extractor, load_config
    from lineage_bridge_dagster.collector.files import summary
    from lineage_bridge_dagster.collector.landing import landing_of, upload
    from lineage_bridge_dagster.collector.variables import MASK_KEY
    from lineage_bridge_dagster.lineage import graph_json

    values = load_config(config, _warn) if config else {}
    extractor = Extractor(
        **values, name=name, mark_path=hwm_path, progress=lambda line: err.print(line, markup=False)
    )
    if test_connection:
        extractor.test_connection()
        regions = ", ".join(extractor.settings.regions)
        err.print(f"glue:GetDatabases and glue:GetTables work in {regions}.", markup=False)
        return
    if extractor.settings.mask and not extractor.settings.mask_key:
        _warn(f"{MASK_KEY} is not set, so masked values have other tokens in each extract.")
    # A wrong landing place is an error before anything is read.
    landing = landing_of(extractor.settings.landing) if extractor.settings.landing else None
    discovery = graph_json.load(graph) if graph else None
    with _stoppable():
        extract = extractor.run(start, end, discovery=discovery)
    click.echo(summary(extract.files))
    click.echo(f"             {extract.manifest.name}")
    for scope in extract.incomplete:
        err.print(f"{scope.status:<8} {scope.name}  {scope.reason}", style="yellow", markup=False)
    if landing:
        upload(
            landing,
            [each.path for each in extract.files],
            extract.manifest,
            lambda line: err.print(line, markup=False),
        )
    if no_publish:
        err.print(f"The mark was not moved; {extract.end} would be the next one.", markup=False)
    else:
        mark = extractor.marks.publish(extract.end)
        err.print(f"The mark is {mark} (UTC), in {extractor.marks.location}", markup=False)
    if extract.incomplete:
        raise SystemExit(EXIT_INCOMPLETE)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM, with which schedulers stop a job, end the extract as Ctrl-C does: it removes its files."""
    before = signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _warn(text: str) -> None:
    err.print(f"Warning: {text}", style="yellow", markup=False)
