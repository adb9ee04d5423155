"""The JVM that evaluates expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.jars.worker import JvmProgram, JvmWorker

#: Characters that an expression may read of one name, and of all names before each gets a thousandth of the
#: first: some tenths of a second. A sound expression reads each character of a name a few times.
NAME_READS, CALL_READS = 20_000_000, 80_000_000

Kind = Literal["matches", "finds", "replaced", "groups"]

_PROGRAM = JvmProgram(
    name="the evaluation of regular expressions",
    died_on="evaluating it ends the process",
    package=__package__,
    sources=("Expressions.java",),
    pyspark_jars=(),
    options=("-Xmx256m",),
    milliseconds=20_000,
)
#: Queries about the same names in one text. A text that fails is asked again query by query.
_QUERIES = 50


class PatternQuery(NamedTuple):
    """What to ask of an expression.

    Attributes:
        kind: `matches` and `finds`: the positions of the names that it matches as a whole, or somewhere.
            `replaced`: each name, as RegexRouter changes it. `groups`: for each name the texts of all groups,
            the whole name first; None if it does not match the whole name.
        replacement: For `replaced`.
        names: What to evaluate it on; none to see only whether it is valid.
    """

    kind: Kind
    pattern: str
    replacement: str
    names: tuple[str, ...]


class Failure(NamedTuple):
    """Why a query has no answer."""

    reason: str
    is_slow: bool = False


Result = list[Any] | Failure


class ExpressionsJvm:
    """Evaluates expressions; usable by any thread. Its process starts with the first and ends with this one.

    Attributes:
        problem: Why the process could not be started, with what to do; empty if it could.
        unevaluated: How many queries have had no answer because of that.
    """

    def __init__(self) -> None:
        self._worker = JvmWorker(_PROGRAM)
        self.problem = ""
        self.unevaluated = 0

    @property
    def pid(self) -> int | None:
        """The process; None while it is not running."""
        return self._worker.pid

    def close(self) -> None:
        """End the process; the next expression starts another."""
        self._worker.close()

    def try_again(self) -> None:
        """Have the next expression start the process, though it could not be started before."""
        self.problem = ""

    def results(self, queries: Iterable[PatternQuery]) -> dict[PatternQuery, Result]:
        """Evaluate queries, each into a list or a `Failure`."""
        found: dict[PatternQuery, Result] = {}
        groups = list(_groups(queries))
        try:
            answers = [] if self.problem else self._worker.answers([_text(group) for group in groups])
        except LineageBridgeError as error:
            self.problem = error.reason
        if self.problem:
            unanswered = [query for group in groups for query in group]
            self.unevaluated += len(unanswered)
            return dict.fromkeys(unanswered, Failure(f"it cannot be evaluated: {self.problem}"))
        for group, answer in zip(groups, answers, strict=True):
            if "error" not in answer:
                found.update(zip(group, map(_result, answer["answers"]), strict=True))
            elif len(group) > 1:
                # One of them has ended the process.
                for query in group:
                    found |= self.results([query])
            else:
                found[group[0]] = Failure(answer["error"])
        return found


def _groups(queries: Iterable[PatternQuery]) -> Iterator[list[PatternQuery]]:
    """Queries about the same names, a limited number at a time."""
    by_names: dict[tuple[str, ...], list[PatternQuery]] = {}
    for query in queries:
        by_names.setdefault(query.names, []).append(query)
    for group in by_names.values():
        for start in range(0, len(group), _QUERIES):
            yield group[start : start + _QUERIES]


def _text(group: Sequence[PatternQuery]) -> str:
    """The queries in the form that `Expressions.java` reads."""
    names = group[0].names
    fields = [str(NAME_READS), str(CALL_READS), str(len(names)), *names]
    for query in group:
        fields += [query.kind, query.pattern, query.replacement]
    lengths = (str(len(field.encode("utf-16-be", "surrogatepass")) // 2) for field in fields)
    return f"{','.join(lengths)};{''.join(fields)}"


def _result(answer: Any) -> Result:
    if not isinstance(answer, dict):
        return list(answer)
    if not answer["slow"]:
        return Failure(answer["error"].partition("\n")[0])
    name = answer["error"][:200]
    return Failure(f"it takes too long on {name!r}; write it without nested repeats", is_slow=True)
