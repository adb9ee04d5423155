"""Questions of many functions reach the JVM in batches; what it could not be asked is no answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    evaluated,
    full_matches,
    patterns,
    replace_whole,
)
from lineage_bridge_dagster.confluent.connectors.java_regex.jvm import ExpressionsJvm, PatternQuery, Result
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.jars import worker


class Counted(ExpressionsJvm):
    """Counts requests, and the questions in them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def results(self, queries: Iterable[PatternQuery]) -> dict[PatternQuery, Result]:
        listed = list(queries)
        self.asked.append(len(listed))
        return super().results(listed)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    found = Counted()
    monkeypatch.setattr(patterns, "EXPRESSIONS", found)
    yield found
    found.close()


def twice(name: str) -> str:
    """The second router sees the name that the first has made."""
    return replace_whole("x(.*)", "y$1", replace_whole("a(.*)", "x$1", name))


def test_batch_answers_all_functions_at_once(counted: Counted) -> None:
    names = [f"a{number}" for number in range(500)]
    assert evaluated([partial(twice, name) for name in names]) == [f"y{number}" for number in range(500)]
    # The first router on each name, the second on what was assumed of the first, and then on its answer.
    assert counted.asked == [1000, 500]


def test_functions_that_ask_nothing_start_no_process(counted: Counted) -> None:
    assert evaluated([lambda: 1, lambda: 2]) == [1, 2]
    assert counted.asked == []
    assert counted.pid is None


def test_inner_batch_is_part_of_the_outer_one(counted: Counted) -> None:
    outer = [partial(lambda name: evaluated([partial(twice, name)])[0], name) for name in ("a1", "b1")]
    assert evaluated(outer) == ["y1", "b1"]
    assert len(counted.asked) == 2


def test_chain_that_is_longer_than_the_rounds_is_followed_to_its_end(counted: Counted) -> None:
    def chain() -> str:
        name = "0"
        for number in range(20):
            name = replace_whole(str(number), str(number + 1), name)
        return name

    assert evaluated([chain]) == ["20"]


def test_errors_are_raised_where_they_were_asked_for(counted: Counted) -> None:
    def tried(pattern: str) -> list[str]:
        try:
            return full_matches(pattern, ["a"])
        except BadRegexError:
            return ["bad"]

    assert evaluated([partial(tried, pattern) for pattern in ("a", "(", "b")]) == [["a"], ["bad"], []]


def test_without_java_nothing_is_answered_and_the_reason_is_told(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def no_java() -> Path:
        tries.append(1)
        raise ConfigurationError("no Java was found", hint="apt-get install it")

    monkeypatch.setattr(worker, "java", no_java)
    for _ in range(2):
        with pytest.raises(BadRegexError, match=r"evaluated: no Java was found\. apt-get install it"):
            full_matches("a", ["a"])
    assert (len(tries), counted.unevaluated) == (1, 2)
    monkeypatch.undo()
    counted.try_again()
    assert counted.results([PatternQuery("matches", "a", "", ("a",))]) != {}
    assert counted.problem == ""
