"""How commands print and exit. Results go to stdout, progress and messages to stderr.

Exit codes: 0 success; 1 something failed, is unknown or was refused; 2 wrong usage or configuration;
3 success, but coverage was incomplete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from lineage_bridge_dagster.lineage.coverage import Coverage

EXIT_FAILED = 1
EXIT_INCOMPLETE = 3

err = Console(stderr=True, highlight=False, soft_wrap=True)


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
