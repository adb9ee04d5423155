"""`lineage-bridge connectors`: what configurations of connectors read and write, to the column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.output import color

if TYPE_CHECKING:
    from lineage_bridge_dagster.confluent.connectors.columns.report import ConnectorReport


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--jsonl", is_flag=True, help="Read a configuration from each line, write a report for each.")
def connectors(file: Path, as_json: bool, jsonl: bool) -> None:
    """Report what a connector's configuration reads and writes: topics, datasets and columns.

    Reads FILE, or stdin: a configuration as the Connect API returns it, or an object with "config" and, as
    far as they are known, "topics_in_cluster" (names), "schemas" (subject, type, schema) and "tables" (the
    columns of datasets). No API is called.

    Each written column has those that it is made of; constants and metadata have none. What is not known has
    a reason. Columns are named topic:NAME.value.PATH, topic:NAME.key.PATH and DATASET.PATH.

    With --jsonl the command exits 0 after one output line per input line, in the same order; a line that is
    not understood has an "error".

    \b
    Examples:
      lineage-bridge connectors postgres-source.json
      curl -s localhost:8083/connectors/pg/config | lineage-bridge connectors --json
      lineage-bridge connectors --jsonl configs.jsonl > lineage.jsonl
    """
    from lineage_bridge_dagster.confluent.connectors.columns.report import connector_report
    from lineage_bridge_dagster.lineage.files import read_json, read_text
    from lineage_bridge_dagster.lineage.json_lines import answer_lines

    if jsonl:
        for line in answer_lines(read_text(file), lambda document: connector_report(document).to_json()):
            click.echo(line)
        return
    report = connector_report(read_json(file, "Give a JSON object of the connector's settings."), str(file))
    if as_json:
        import json

        click.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        click.echo(_readable(report), nl=False, color=color())


def _readable(report: ConnectorReport) -> str:
    found, columns = report.lineage, report.columns
    lines = [f"A {found.direction} of family {found.family or '(unknown)'}", ""]
    for title, names in (
        ("Reads", (*found.datasets_read, *found.topics_read)),
        ("Writes", (*found.topics_written, *found.datasets_written)),
    ):
        lines += [title, *(f"  {name}" for name in names or ("nothing that is known",)), ""]
    for name, sources in columns.columns.items():
        lines += [name, *(f"  <- {source}" for source in sorted(sources) or ("no column",))]
    for name, reason in columns.unknown.items():
        lines += [name, click.style(f"  not known: {reason}", fg="yellow")]
    lines += [click.style(f"Warning: {warning}", fg="yellow") for warning in found.warnings]
    return "\n".join(lines).rstrip() + "\n"
