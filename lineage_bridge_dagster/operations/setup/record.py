"""A JSON file that records what a setup changed, so that it can be undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.files import write_atomically
from lineage_bridge_dagster.operations.setup.actions import Action, action_from_json


@dataclass(frozen=True, slots=True)
class Change:
    """A change that was made, or that may have been made if its call was interrupted."""

    title: str
    undo: Action


class Record:
    """The changes in one table bucket's namespace, in the order in which they were made.

    A change is written before its call, so that a process that is killed leaves no change unrecorded.
    """

    def __init__(self, path: Path, place: str) -> None:
        """Read the file, if it exists.

        Args:
            place: what the changes are about; a record of another place is refused.

        Raises:
            ConfigurationError: the file is of another place, or no record.
        """
        self._path = path
        self._place = place
        self._changes: list[Change] = []
        if path.exists():
            self._read()

    def __iter__(self) -> Iterator[Change]:
        return iter(list(self._changes))

    def __len__(self) -> int:
        return len(self._changes)

    def add(self, change: Change) -> None:
        self._changes.append(change)
        self._write()

    def remove(self, change: Change) -> None:
        self._changes.remove(change)
        self._write()

    def _read(self) -> None:
        try:
            data = json.loads(self._path.read_text())
            place = data["place"]
            changes = [Change(entry["title"], action_from_json(entry["undo"])) for entry in data["changes"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                f"{self._path} is not a record of a setup.", hint="Pass another file with --record."
            ) from error
        if place != self._place:
            raise ConfigurationError(
                f"{self._path} records the setup of {place}, not of {self._place}.",
                hint="Pass another file with --record.",
            )
        self._changes = changes

    def _write(self) -> None:
        if not self._changes:
            self._path.unlink(missing_ok=True)
            return
        changes = [{"title": change.title, "undo": change.undo.to_json()} for change in self._changes]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._path, [json.dumps({"place": self._place, "changes": changes}, indent=2), "\n"])
