"""What a function does, counted: the same on every machine, under any load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps_of(function: Callable[[], object]) -> int:
    """Return how many lines of Python are run and functions called, built-in ones too."""
    steps = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal steps
        steps += 1
        return trace

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal steps
        steps += event == "c_call"

    tracing, profiling = sys.gettrace(), sys.getprofile()
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(profiling)
        sys.settrace(tracing)
    return steps
