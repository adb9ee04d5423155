"""The names that users write down: in YAML, selections, alerts, scripts, queries and dashboards.

`interface.txt` lists those that a version has. Before a release, new ones are added to it by
`python -m lineage_bridge_dagster_tests.interface`, which never removes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.cli.output import EXIT_FAILED, EXIT_INCOMPLETE
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.formats import EVERY_FORMAT
from lineage_bridge_dagster.spark.chains.lineage_tables import COLUMNS
from lineage_bridge_dagster_tests import reference

FILE = Path(__file__).with_suffix(".txt")
VERSION = f"version {metadata.version('lineage-bridge-dagster')}"
HOW_TO_ADD = "python -m lineage_bridge_dagster_tests.interface"

Interface = Mapping[str, set[str]]


def current() -> Interface:
    """The names by kind."""
    with TemporaryDirectory() as folder:
        built = reference.built(Path(folder))
    commands = dict(_commands(main, "lineage-bridge"))
    found: dict[str, Iterable[str]] = {
        **{
            f"fields of {component.__name__}": [row[0] for row in reference.settings(component)]
            for component, _ in built
        },
        "variables": [row[1] for component, _ in built for row in reference.settings(component)],
        "parameters in Glue": [row[0] for row in reference.parameters()],
        "metadata keys": [row[0] for row in reference.metadata()],
        "metrics": [row[0] for row in reference.metrics()],
        "asset checks": [row[0] for row in reference.checks(built)],
        "jobs, schedules and sensors": [row[0] for row in reference.jobs(built)],
        "asset keys": _one_of_each_kind(
            key.to_user_string()
            for _, definitions in built
            for key in definitions.get_repository_def().asset_graph.get_all_asset_keys()
        ),
        "commands": commands,
        "options": [f"{name} {each}" for name, options in commands.items() for each in options],
        "exit codes": [
            f"failed={LineageBridgeError.exit_code}",
            f"failed={EXIT_FAILED}",
            f"usage={ConfigurationError.exit_code}",
            f"incomplete={EXIT_INCOMPLETE}",
        ],
        "columns of the lineage tables": [
            f"{table}.{name}" for table, columns in COLUMNS.items() for name, _, _ in columns
        ],
        "formats": [f"{each.name}={each.version}" for each in EVERY_FORMAT],
        "options of a push": PushSettings.model_fields,
    }
    return {kind: {name.strip("`") for name in names} - {""} for kind, names in found.items()}


def recorded() -> Interface:
    """The names in the file by kind."""
    found: dict[str, set[str]] = {}
    for line in FILE.read_text().splitlines():
        if line.startswith("#"):
            continue
        if line and not line.startswith(" "):
            names = found.setdefault(line.rstrip(":"), set())
        else:
            names.add(line.strip())
    return found


def text(interface: Interface) -> str:
    lines = [f"# The names of {VERSION}; to add new ones: {HOW_TO_ADD}"]
    for kind, names in sorted(interface.items()):
        # One on each line, so that two branches can each add some.
        lines += [f"{kind}:", *(f" {name}" for name in sorted(names))]
    return "\n".join(lines) + "\n"


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, list[str]]]:
    """Each command by its words, with its options."""
    yield (
        path,
        [each for option in command.params if isinstance(option, click.Option) for each in option.opts],
    )
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None and not inner.hidden:
                yield from _commands(inner, f"{path} {name}")


def _one_of_each_kind(keys: Iterable[str]) -> list[str]:
    """The first key of those that have the same first part and as many parts."""
    kinds = groupby(sorted(keys), key=lambda key: (key.split("/")[0], key.count("/")))
    return [next(group) for _, group in kinds]


if __name__ == "__main__":
    known, now = (recorded() if FILE.exists() else {}), current()
    FILE.write_text(text({kind: known.get(kind, set()) | now.get(kind, set()) for kind in {*known, *now}}))
