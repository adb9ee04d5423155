"""`lineage-bridge doctor`: checks everything that discovery and pushes need, and says what to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.output import EXIT_FAILED, EXIT_INCOMPLETE, color, err

if TYPE_CHECKING:
    from lineage_bridge_dagster.operations.doctor.context import StoredDiscovery
    from lineage_bridge_dagster.operations.doctor.finding import Finding

_COLORS = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "bright_black"}
_INDENT = " " * 10


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
@click.option(
    "--only", metavar="NAME", multiple=True, help="Run only this check, or this area; can be repeated."
)
@click.option("--list", "list_only", is_flag=True, help="List the checks and run none.")
@click.option(
    "--graph",
    type=click.Path(path_type=Path, exists=True),
    help="The lineage_graph.json that tells which tables there should be; by default the newest discovery "
    "that the Dagster instance of DAGSTER_HOME has stored.",
)
@click.option(
    "--defs",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Check the settings and catalogs of this defs.yaml; by default, only those that variables set.",
)
def doctor(
    as_json: bool, only: tuple[str, ...], list_only: bool, graph: Path | None, defs: Path | None
) -> None:
    """Check credentials, permissions, keys, tables and this machine. Changes nothing.

    Exits 0 if all is well; 1 if a check failed; 3 if none failed, but some warn or could not be verified;
    2 for a wrong option. A check that does not apply is skipped, and counts as passed.

    \b
    Examples:
      lineage-bridge doctor
      lineage-bridge doctor --only confluent --only glue.read
      lineage-bridge doctor --defs defs/confluent_to_glue/defs.yaml --only catalogs
      lineage-bridge doctor --json | jq '.findings[] | select(.status == "failed")'
    """
    from lineage_bridge_dagster.lineage import graph_json
    from lineage_bridge_dagster.operations.doctor.checks import all_checks, run_checks, selected
    from lineage_bridge_dagster.operations.doctor.context import Context, StoredDiscovery
    from lineage_bridge_dagster.operations.doctor.dagster_instance import stored_discovery
    from lineage_bridge_dagster.operations.doctor.finding import report, summary

    checks = selected(all_checks(), only)
    if list_only:
        width = max(len(check.name) for check in checks)
        for check in checks:
            click.echo(f"{check.name:<{width}}  {check.question}")
        return
    given = StoredDiscovery(graph_json.load(graph), str(graph)) if graph else None
    fields = None
    if defs is not None:
        # Imported here: it loads Dagster.
        from lineage_bridge_dagster.cli.instance_file import read_instance

        fields = read_instance(defs)

    def stored() -> StoredDiscovery | None:
        return given or stored_discovery(context)

    context = Context(stored, given=fields)
    with err.status("Examining") as status:

        def progress(done: int, total: int, running: Sequence[str]) -> None:
            waiting = f": {', '.join(running[:3])}" if running else ""
            status.update(f"{done} of {total} checks done{waiting}")

        findings = run_checks(checks, context, progress)
    if as_json:
        click.echo(json.dumps(report(findings), ensure_ascii=False))
    else:
        _print(findings)
        click.echo(summary(findings))
    statuses = {str(finding.status) for finding in findings}
    if "failed" in statuses:
        raise SystemExit(EXIT_FAILED)
    if "warning" in statuses:
        raise SystemExit(EXIT_INCOMPLETE)


def _print(findings: Sequence[Finding]) -> None:
    """Each finding with what was tried, what came back and what to do."""
    for finding in findings:
        mark = click.style(f"{finding.status:<8}", fg=_COLORS[str(finding.status)])
        click.echo(f"{mark}  {finding.check}: {finding.tried}", color=color())
        click.echo(f"{_INDENT}{finding.result}")
        if finding.remedy:
            click.echo(f"{_INDENT}-> {finding.remedy}")
