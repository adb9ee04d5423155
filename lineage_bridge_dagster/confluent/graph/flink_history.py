"""The options of Flink's tables after each statement, and when each table was last created. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lineage_bridge_dagster.confluent.graph.flink_external import External, external_of
from lineage_bridge_dagster.confluent.graph.subjects import ROLES, Convention, Conventions
from lineage_bridge_dagster.sql.statement import SqlStatement, TableChange, TablePath

_Options = dict[str, str]

_DONE = frozenset({"COMPLETED", "STOPPED"})
_NOT_DONE = frozenset({"FAILED", "FAILING", "PENDING"})


@dataclass(slots=True)
class FlinkTables:
    """The tables of all statements. Paths are canonical; a moment is a text's position by creation.

    Attributes:
        states: The options of each table since each moment.
        connections: The options of each connection.
        began: When each table was last created or dropped: what was written before is gone.
    """

    states: dict[TablePath, list[tuple[int, _Options]]] = field(default_factory=dict)
    connections: dict[TablePath, _Options] = field(default_factory=dict)
    began: dict[TablePath, datetime] = field(default_factory=dict)

    def note(self, moment: int, created_at: datetime, phase: str, statements: Iterable[SqlStatement]) -> None:
        """Apply a text.

        Args:
            moment: Later than that of the text before.
            created_at: Time of its creation.
            phase: The phase of its statement: one that failed has changed nothing.
            statements: Those of the text.
        """
        for statement in statements:
            change = statement.table
            if change is None or phase in _NOT_DONE or (change.action == "drop" and phase not in _DONE):
                continue
            if change.action == "connect":
                self.connections.setdefault(change.path, {}).update(change.options)
                continue
            # A CREATE TABLE that succeeded proves that there was no such table.
            if change.action in ("drop", "replace") or (
                change.action == "create" and not change.if_not_exists
            ):
                self.began[change.path] = created_at
            if change.action != "create" or not (change.if_not_exists and change.path in self.states):
                self.states.setdefault(change.path, []).append((moment, self._changed(moment, change)))

    def external(self, path: TablePath, moment: int) -> External | None:
        """What a table stood for; None if it is a topic, as far as is known."""
        options = self._options(path, moment)
        return external_of(options, self._connections(path)) if options else None

    def error_log(self, path: TablePath, moment: int) -> str:
        """The table for records that cannot be read; empty if such records fail the statement."""
        options = self._options(path, moment)
        if options.get("error-handling.mode", "").lower() != "log":
            return ""
        return options.get("error-handling.log.target") or "error_log"

    def conventions(self) -> Iterator[tuple[TablePath, Conventions]]:
        """The contexts in which tables register their schemas, of those that set one."""
        for path, states in self.states.items():
            contexts = {
                role: [Convention(value)]
                for role in ROLES
                for key, value in states[-1][1].items()
                if key.startswith(f"{role}.") and key.endswith(".schema-context")
            }
            if contexts:
                yield path, contexts

    def is_gone(self, path: TablePath, created_at: datetime) -> bool:
        """Whether a table was created again after a statement, so that nothing it wrote is left there."""
        began = self.began.get(path)
        return began is not None and began > created_at

    def _connections(self, table: TablePath) -> Mapping[str, _Options]:
        """Those that a table may use, by name: of its own database, or the only one of that name."""
        count = Counter(path[-1] for path in self.connections)
        return {
            name: options
            for path, options in self.connections.items()
            for name in (".".join(path), path[-1])
            if name != path[-1] or path[:-1] == table[:-1] or count[name] == 1
        }

    def _options(self, path: TablePath, moment: int) -> _Options:
        """A table's options; of one that is created later, its first."""
        states = self.states.get(path)
        if not states:
            return {}
        return states[max(0, bisect_right(states, moment, key=lambda state: state[0]) - 1)][1]

    def _changed(self, moment: int, change: TableChange) -> _Options:
        inherited = change.path if change.action == "set" else change.base
        options = {**(self._options(inherited, moment) if inherited else {}), **dict(change.options)}
        return {key: value for key, value in options.items() if value}
