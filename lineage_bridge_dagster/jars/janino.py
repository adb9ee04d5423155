"""Compiles Java in a running JVM, by the Janino that PySpark ships."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def compilers(new: Callable[[], Any], sources: Iterable[str]) -> list[Any]:
    """A compiler for each source, which has compiled it; each source can use the classes of those before it.

    Args:
        new: makes a `SimpleCompiler` in the JVM.
        sources: Java, without lambdas and inferred generics.
    """
    found: list[Any] = []
    for source in sources:
        compiler = new()
        if found:
            compiler.setParentClassLoader(found[-1].getClassLoader())
        compiler.cook(source)
        found.append(compiler)
    return found
