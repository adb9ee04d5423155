"""`lineage-bridge init`: the settings of Dagster for the project in a folder."""

from __future__ import annotations

from pathlib import Path

import click

from lineage_bridge_dagster.cli.output import EXIT_FAILED
from lineage_bridge_dagster.config.dg_project import DgProject, dagster_yaml, workspace_yaml
from lineage_bridge_dagster.errors import ConfigurationError


@click.command("init")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option(
    "--home",
    envvar="DAGSTER_HOME",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the Dagster instance.  [default: DAGSTER_HOME]",
)
def init(folder: Path, home: Path | None) -> None:
    """Write the recommended dagster.yaml and workspace.yaml of the project in FOLDER.

    dagster.yaml sets how runs start and how many run at once; it goes to the folder of the Dagster instance.
    workspace.yaml, beside pyproject.toml, names the project's code location. Files that exist stay as they
    are; if one differs, this exits 1.

    \b
    Examples:
      export DAGSTER_HOME=~/dagster
      lineage-bridge init
      dagster dev -w workspace.yaml
    """
    project = DgProject.read(folder)
    if project is None:
        raise ConfigurationError(
            f"{folder.resolve()} has no pyproject.toml with a root_module in [tool.dg.project].",
            hint="Run this in the folder of a dg project; `create-dagster project` makes a new one.",
        )
    if home is None:
        raise ConfigurationError(
            "DAGSTER_HOME is not set.", hint="Set it to a folder that stays, or give one with --home."
        )
    home = home.expanduser().resolve()
    home.mkdir(parents=True, exist_ok=True)
    files = {
        home / "dagster.yaml": dagster_yaml(project.name),
        folder / "workspace.yaml": workspace_yaml(project, folder),
    }
    differ = [path for path, text in files.items() if not _write(path, text)]
    for path in differ:
        click.echo(
            f"{path} has other content and was left alone. To compare, move it away and run this again.",
            err=True,
        )
    if differ:
        raise SystemExit(EXIT_FAILED)
    click.echo(f"Next: DAGSTER_HOME={home} dagster dev -w {folder / 'workspace.yaml'}")


def _write(path: Path, text: str) -> bool:
    """Write a file that is not there; False if there is one with other content."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return path.read_text(encoding="utf-8", errors="replace") == text
    click.echo(f"Wrote {path}")
    return True
