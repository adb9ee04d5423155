"""Applies the steps of a plan, and undoes what the record holds. The plan decides; this only acts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.json_text import json_value
from lineage_bridge_dagster.lineage.files import write_atomically
from lineage_bridge_dagster.operations.setup.aws import Aws, SetupError
from lineage_bridge_dagster.operations.setup.plan import (
    EXTERNAL_ACCESS,
    Action,
    Call,
    SetExternalAccess,
    Step,
    action_from_json,
)


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
            data = json_value(self._path.read_text(encoding="utf-8"))
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


#: Attempts at a change of Lake Formation's settings that somebody else undoes at the same time.
_SETTINGS_ATTEMPTS = 3

#: A new catalog or namespace is not visible to Lake Formation at once.
_VISIBLE_ATTEMPTS = 8
_VISIBLE_SECONDS = 2.0

Sleep = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one step or undo.

    Attributes:
        status: `done`, `undone`, `kept` (could not be undone, and why) or `skipped` (somebody else did it
            before).
    """

    title: str
    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The effect of an action: whether it changed anything, and what the user must know about it."""

    changed: bool = True
    note: str = ""


def apply(
    aws: Aws,
    steps: Iterable[Step],
    record: Record,
    *,
    report: Callable[[Outcome], None],
    sleep: Sleep = time.sleep,
) -> None:
    """Apply the needed steps, recording each before its call.

    Raises:
        SetupError: a step failed. Those before it stay, and are in the record.
    """
    for step in steps:
        if step.action is None or step.undo is None:
            continue
        change = Change(step.title, step.undo)
        record.add(change)
        try:
            done = perform(aws, step.action, sleep=sleep)
        except SetupError as error:
            if error.may_have_changed and not error.is_existing:
                raise
            if not error.may_have_changed:
                record.remove(change)
            if not error.is_existing:
                raise
            done = Done(changed=error.may_have_changed)
        else:
            if not done.changed:
                record.remove(change)
        if done.changed:
            report(Outcome(step.title, "done", done.note))
        else:
            # It was created after the state was read, so undoing it is not up to this setup.
            report(Outcome(step.title, "skipped", "somebody else has just done it"))


def undo(aws: Aws, record: Record, *, report: Callable[[Outcome], None], sleep: Sleep = time.sleep) -> bool:
    """Undo what the record holds, the last change first. Returns whether everything is undone.

    Raises:
        SetupError: an undo failed. Those that are left stay in the record.
    """
    complete = True
    for change in reversed(list(record)):
        try:
            done = perform(aws, change.undo, sleep=sleep, wait=False)
        except SetupError as error:
            if error.is_existing:
                # DeleteNamespace: tables were created in it, which are not this setup's.
                report(Outcome(change.title, "kept", error.message))
                complete = False
                continue
            if not (error.is_missing or _nothing_to_revoke(error)):
                raise
            done = Done(changed=False)
        if done.changed:
            report(Outcome(change.title, "undone", done.note))
        else:
            report(Outcome(change.title, "skipped", "somebody else undid it before"))
        record.remove(change)
    return complete


def perform(aws: Aws, action: Action, *, sleep: Sleep = time.sleep, wait: bool = True) -> Done:
    """Perform one action; with `wait`, try a grant again while its resource is not visible yet.

    Raises:
        SetupError: it failed.
    """
    if isinstance(action, SetExternalAccess):
        return _set_external_access(aws, action)
    attempts = _VISIBLE_ATTEMPTS if wait and action.operation == "GrantPermissions" else 1
    for attempt in range(1, attempts + 1):
        try:
            aws.call(action)
        except SetupError as error:
            if not error.is_missing or attempt == attempts:
                raise
            sleep(_VISIBLE_SECONDS)
        else:
            break
    return Done()


def _set_external_access(aws: Aws, action: SetExternalAccess) -> Done:
    """Read, change, write and read again, because the API has no version check against lost updates."""
    changed, note = False, ""
    for _ in range(_SETTINGS_ATTEMPTS):
        before = aws.settings(action.account)
        if bool(before.get(EXTERNAL_ACCESS)) == action.value:
            return Done(changed, note)
        wanted = {**before, EXTERNAL_ACCESS: action.value}
        parameters = {"CatalogId": action.account, "DataLakeSettings": wanted}
        aws.call(Call("lakeformation", "PutDataLakeSettings", parameters))
        changed = True
        after = aws.settings(action.account)
        differing = sorted(name for name in {*wanted, *after} if wanted.get(name) != after.get(name))
        if differing:
            note = (
                "Somebody else changed Lake Formation's settings at the same time "
                f"({', '.join(differing)}): check that both changes are there."
            )
        if EXTERNAL_ACCESS not in differing:
            return Done(changed, note)
    raise SetupError(
        f"Lake Formation's setting {EXTERNAL_ACCESS} did not stay {action.value}: somebody else writes the "
        f"settings, {_SETTINGS_ATTEMPTS} times in a row.",
        hint="Find the writer in CloudTrail (PutDataLakeSettings); Terraform's "
        "aws_lakeformation_data_lake_settings has a field for it. Then run the command again.",
    )


def _nothing_to_revoke(error: SetupError) -> bool:
    """Lake Formation refuses to revoke a permission that is not granted."""
    return error.code == "InvalidInputException" and "does not have" in error.message
