"""`lineage-bridge impact`: what a change does to everything downstream."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.graph import discover, output_option
from lineage_bridge_dagster.cli.output import EXIT_FAILED, EXIT_INCOMPLETE, color
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError

if TYPE_CHECKING:
    from lineage_bridge_dagster.impact.changed_nodes import ChangedPlace
    from lineage_bridge_dagster.impact.files import GivenChanges
    from lineage_bridge_dagster.impact.report import Impact, Verdict

_FILE = click.Path(path_type=Path, allow_dash=True)
_VERDICTS = ("breaks", "loses_data", "changes_meaning", "changes_type", "gains_column")
_DIRECTIONS = ("BACKWARD", "FORWARD", "FULL")
_LEVELS = ("NONE", *_DIRECTIONS, *(f"{direction}_TRANSITIVE" for direction in _DIRECTIONS))
_FORMATS = ("terminal", "markdown", "json", "junit", "sarif")


@click.command()
@click.option(
    "--graph",
    type=click.Path(path_type=Path),
    help="A stored discovery: a lineage_graph.json, or a folder with nodes.parquet and edges.parquet. "
    "Without it and --world, everything is discovered first.",
)
@click.option(
    "--world", type=_FILE, help="What exists, as JSON: topics, schemas, statements, connectors, ..."
)
@click.option("--environment", default="", metavar="ID", help="Where the changes are made; all, by default.")
@click.option("--cluster", default="", metavar="ID", help="The cluster in it; all, by default.")
@click.option("--change", type=_FILE, multiple=True, help="A change as JSON, or a list of changes.")
@click.option(
    "--schema", type=_FILE, multiple=True, help="A schema that becomes the next version of --subject."
)
@click.option("--subject", multiple=True, metavar="S", help="Its subject, such as orders-value.")
@click.option("--reference", multiple=True, metavar="NAME=FILE", help="A schema that a --schema imports.")
@click.option(
    "--old",
    type=_FILE,
    multiple=True,
    help="The version to compare --schema with, instead of the latest one.",
)
@click.option(
    "--compatibility",
    type=click.Choice(_LEVELS, case_sensitive=False),
    multiple=True,
    help="The compatibility level of --subject, if it has one of its own: a discovery reads that of the "
    "registry alone.",
)
@click.option("--statement", multiple=True, metavar="NAME=FILE", help="New SQL of a Flink statement.")
@click.option("--connector", multiple=True, metavar="NAME=FILE", help="New configuration of a connector.")
@click.option("--plan", type=_FILE, multiple=True, help="A Terraform plan: terraform show -json PLAN.")
@click.option(
    "--drop",
    multiple=True,
    metavar="KIND:NAME[#COLUMN]",
    help="A topic, statement, connector, subject, glue table, view, dataset or outside job that goes, or a "
    "column.",
)
@click.option("--fail-on", type=click.Choice(_VERDICTS), default="breaks", show_default=True)
@click.option("--format", "form", type=click.Choice(_FORMATS), default="terminal", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--jsonl", type=_FILE, help='Read lines {"id", "world", "change"}, write a report for each.')
@output_option
def impact(
    graph: Path | None,
    world: Path | None,
    environment: str,
    cluster: str,
    change: tuple[Path, ...],
    schema: tuple[Path, ...],
    subject: tuple[str, ...],
    reference: tuple[str, ...],
    old: tuple[Path, ...],
    compatibility: tuple[str, ...],
    statement: tuple[str, ...],
    connector: tuple[str, ...],
    plan: tuple[Path, ...],
    drop: tuple[str, ...],
    fail_on: str,
    form: str,
    as_json: bool,
    jsonl: Path | None,
    output: Path | None,
) -> None:
    """Report what a change does to everything downstream: what breaks, loses data or changes.

    Reads a stored discovery, or a file that tells what exists, and calls no API then. All changes that are
    given count together.

    Exits 0 if nothing is affected at or above --fail-on, 1 if something is, 2 for wrong usage or input that
    cannot be read, and 3 if nothing is but the graph was incomplete where it matters. With --jsonl it exits 0
    after one output line per input line, in the same order; a line that cannot be read has an "error".

    Verdicts, gravest first: breaks, loses_data, changes_meaning (a filter, a key, a window), changes_type,
    gains_column.

    \b
    Examples:
      lineage-bridge impact --graph lineage_graph.json --schema orders.avsc --subject orders-value
      lineage-bridge impact --graph graph --plan plan.json --format markdown -o impact.md
      lineage-bridge impact --graph graph --statement clean-orders=clean.sql --connector pg-sink=pg.json
      lineage-bridge impact --graph graph --drop topic:orders --fail-on loses_data
      lineage-bridge impact --world world.json --change change.json --json
    """
    from lineage_bridge_dagster.impact.changed_nodes import ChangedPlace
    from lineage_bridge_dagster.impact.report import Verdict

    if jsonl is not None:
        from lineage_bridge_dagster.impact.render.json_report import report_lines
        from lineage_bridge_dagster.lineage.files import read_text

        _write("".join(f"{line}\n" for line in report_lines(read_text(jsonl))), output)
        return
    if world is not None and (environment or cluster):
        raise click.UsageError("--environment and --cluster choose in a discovery: a --world is one cluster.")
    if graph is not None and world is not None:
        raise click.UsageError("--graph and --world both tell what exists: give one of them.")
    if len(schema) != len(subject):
        raise click.UsageError("--schema and --subject belong together: give as many of one as of the other.")
    for name, values in {"--old": old, "--compatibility": compatibility}.items():
        if len(values) not in (0, len(schema)):
            raise click.UsageError(
                f"{name} belongs to --schema: give one for each, in the same order, or none."
            )
    if reference and not schema:
        raise click.UsageError("--reference belongs to --schema.")
    try:
        changes = _changes(change, plan, statement, connector, drop)
        references = {name: Path(file) for name, file in map(_pair, reference)}
        for path, name in zip(schema, subject, strict=True):
            changes.add_schema_file(path, name, references)
        if not changes.changes and not changes.gaps and not changes.files:
            raise click.UsageError(
                "No change is given: use --schema, --statement, --connector, --plan, --drop or --change."
            )
        before = dict(zip(subject, old, strict=False))
        levels = dict(zip(subject, compatibility, strict=False))
        found = _analyze(graph, world, ChangedPlace(environment, cluster), before, levels, changes)
    except ConfigurationError:
        raise
    except LineageBridgeError as error:
        # 1 would say that something breaks.
        raise ConfigurationError(error.message, hint=error.hint) from error
    _write(_rendered(found, "json" if as_json else form, Verdict(fail_on), changes.files), output)
    if any(found.at_least(Verdict(fail_on))):
        raise SystemExit(EXIT_FAILED)
    if found.is_incomplete:
        raise SystemExit(EXIT_INCOMPLETE)


def _changes(
    change: tuple[Path, ...],
    plan: tuple[Path, ...],
    statement: tuple[str, ...],
    connector: tuple[str, ...],
    drop: tuple[str, ...],
) -> GivenChanges:
    from lineage_bridge_dagster.impact.files import GivenChanges

    changes = GivenChanges()
    for path in change:
        changes.add_change_file(path)
    for path in plan:
        changes.add_plan_file(path)
    for name, file in map(_pair, statement):
        changes.add_statement_file(name, Path(file))
    for name, file in map(_pair, connector):
        changes.add_connector_file(name, Path(file))
    for text in drop:
        changes.add_drop(text)
    return changes


def _pair(text: str) -> tuple[str, str]:
    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise click.UsageError(f"{text!r} is not NAME=FILE.")
    return name, file


def _analyze(
    graph: Path | None,
    world: Path | None,
    place: ChangedPlace,
    old: Mapping[str, Path],
    levels: Mapping[str, str],
    changes: GivenChanges,
) -> Impact:
    from dataclasses import replace

    from lineage_bridge_dagster.impact.analysis import impact as analyze
    from lineage_bridge_dagster.impact.analysis import impact_of_discovery
    from lineage_bridge_dagster.impact.files import read_schema
    from lineage_bridge_dagster.impact.world import World
    from lineage_bridge_dagster.lineage.files import read_json
    from lineage_bridge_dagster.lineage.graph_json import load

    before = {subject: read_schema(path, subject) for subject, path in old.items()}
    if world is not None:
        document = read_json(world, "Give what exists as a JSON object.")
        known = World.of_json(
            document.get("world", document) if isinstance(document, dict) else document, str(world)
        )
        known = replace(
            known,
            schemas={**known.schemas, **before},
            compatibility={**known.compatibility, **levels},
        )
        found = analyze(known, changes.changes)
        return replace(found, gaps=(*changes.gaps, *found.gaps))
    discovery = discover() if graph is None else load(graph)
    return impact_of_discovery(
        discovery, changes.changes, schemas=before, levels=levels, gaps=changes.gaps, place=place
    )


def _rendered(found: Impact, form: str, fail_on: Verdict, files: list[str]) -> str:
    import json

    from lineage_bridge_dagster.impact.render import json_report, junit, markdown, sarif, text_report

    match form:
        case "markdown":
            return markdown.report(found)
        case "json":
            return json.dumps(json_report.report(found), indent=2, ensure_ascii=False) + "\n"
        case "junit":
            return junit.report(found, fail_on)
        case "sarif":
            return json.dumps(sarif.report(found, files), indent=2, ensure_ascii=False) + "\n"
        case _:
            return text_report.report(found)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False, color=color())
    else:
        from lineage_bridge_dagster.lineage.files import write_atomically

        write_atomically(output, [click.unstyle(text)])
