"""The command line in a process that is killed in the middle.

It is forked from one process that has imported this module and has no threads: importing the commands would
take longer than they do.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lineage_bridge_dagster.cli.main import main

#: A call of a function: the module, the function's name, which of the calls with an argument that holds a
#: word, the word, and whether before or after it.
Point = tuple[str, str, int, str, str]

_SECONDS = 300.0


def killed_run(point: Point, arguments: Sequence[str], folder: Path) -> int | None:
    """Run a command in a folder until it kills its own process at a point; return the exit code."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_run, args=(point, arguments, folder, dict(os.environ)))
    process.start()
    process.join(_SECONDS)
    return process.exitcode


def _run(point: Point, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    _kill_at(*point)
    main(arguments)


def _kill_at(module: str, name: str, number: int, word: str, when: str) -> None:
    *owner, name = name.split(".")
    target = importlib.import_module(module)
    for each in owner:
        target = getattr(target, each)
    real, calls = getattr(target, name), 0

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        is_counted = not word or any(word in str(arg) for arg in args)
        calls += is_counted
        is_last = is_counted and calls == number
        if is_last and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args, **kwargs)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(target, name, wrapped)
