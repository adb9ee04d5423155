"""The identifiers that the last extract saw, and those that this one sees, held in little memory."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator

from lineage_bridge_dagster.collector.marks import Identifier


class LastIdentifiers:
    """The identifiers of the last extract. What is seen again is taken out, which leaves the rest."""

    def __init__(self, identifiers: Iterable[Identifier]) -> None:
        self._left: dict[tuple[str, str], dict[str, Identifier]] = {}
        for each in identifiers:
            self._left.setdefault((each.region, each.database), {})[each.table] = each

    def take(self, region: str, database: str, table: str = "") -> Identifier | None:
        """The identifier of a database or a table, which is taken out; None for a new one."""
        return self._left.get((region, database), {}).pop(table, None)

    def forget(self, region: str) -> None:
        """Drop the identifiers of a region."""
        for scope in [scope for scope in self._left if scope[0] == region]:
            del self._left[scope]

    def left(self) -> Iterator[Identifier]:
        for tables in self._left.values():
            yield from tables.values()


class SeenFile:
    """The identifiers that this extract sees, in a temporary file. Add all of them before iterating."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed on exit

    def __enter__(self) -> SeenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, identifier: Identifier) -> None:
        self._file.write(json.dumps(identifier.fields()) + "\n")

    def __iter__(self) -> Iterator[Identifier]:
        self._file.seek(0)
        for line in self._file:
            yield Identifier.of(json.loads(line))
