"""Calls for many tables at once, each with its answer or its error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E", bound=Exception)


def answers(
    call: Callable[[A], B], asked: Iterable[A], errors: tuple[type[E], ...], *, max_concurrency: int
) -> list[B | E]:
    """The answer of each call in order; the error in place of the answer of one that raised such an error."""

    def answer_or_error(each: A) -> B | E:
        try:
            return call(each)
        except errors as error:
            return error

    with ThreadPoolExecutor(max_concurrency, thread_name_prefix="catalog") as pool:
        return list(pool.map(answer_or_error, asked))
