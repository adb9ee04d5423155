"""Python's search for cyclic garbage, which takes longer with each object that stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector within the block, in all threads.

    It is for work whose many objects stay, such as a graph: to scan them again and again takes a quarter of
    the time or more.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
