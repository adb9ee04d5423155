"""How commands print and exit. Results go to stdout, progress and messages to stderr.

Exit codes: 0 success; 1 something failed, is unknown or was refused; 2 wrong usage or configuration;
3 success, but coverage was incomplete.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from lineage_bridge_dagster.lineage.coverage import Coverage
    from lineage_bridge_dagster.lineage.model import Graph

#: Tables that Glue lacks which a command names one by one.
_MAX_TABLES = 20

EXIT_FAILED = 1
EXIT_INCOMPLETE = 3


def color() -> bool | None:
    """For `click.echo`: no color if NO_COLOR is set, else one on terminals only."""
    return False if os.environ.get("NO_COLOR") else None


err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_glue_tables(graph: Graph) -> None:
    """Print how many tables Glue has of those that Tableflow syncs to it, and why it lacks the others."""
    from lineage_bridge_dagster.lineage.glue_status import absence_sentence, glue_counts, is_in_glue
    from lineage_bridge_dagster.lineage.nodes import GlueTableNode

    absent = [table for table in graph.of_kind(GlueTableNode) if not is_in_glue(table)]
    for table in absent[:_MAX_TABLES]:
        line = f"{table.glue_status:<8} {table.shown_place.dotted}  {absence_sentence(table)}"
        err.print(f"{line} {table.glue_next_step}".rstrip(), style="yellow", markup=False)
    if len(absent) > _MAX_TABLES:
        err.print(f"... and {len(absent) - _MAX_TABLES:,} more tables", style="yellow")
    err.print(f"Glue tables: {glue_counts(graph)}", markup=False)


def exit_by_coverage(coverage: Coverage) -> None:
    """Print the scopes that were not fully read, and what the others leave open; exit 3 for the former."""
    from lineage_bridge_dagster.lineage.unknowns import note_lines

    for report in coverage.incomplete:
        err.print(f"{report.status:<8} {report.scope}  {report.reason}", style="yellow", markup=False)
    for scope, note in note_lines(coverage):
        err.print(f"{'note':<8} {scope}  {note}", markup=False)
    err.print(f"Coverage: {coverage.fully_read} of {len(coverage)} scopes complete")
    if not coverage.complete:
        raise SystemExit(EXIT_INCOMPLETE)
