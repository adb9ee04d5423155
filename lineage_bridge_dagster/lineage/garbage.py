"""Python's search for cyclic garbage, which takes longer with each object that stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: Objects made in a block from which on the search takes a notable part of what follows.
_MANY = 200_000

#: New objects from which on the collector searches in a process with a large load. What Dagster makes of the
#: definitions stays too: at Python's 700 it is searched a dozen times over, a sixth of the time to load.
_NEW = 50_000


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector within the block, in all threads.

    It is for work whose many objects stay, such as a graph: to scan them again and again takes a quarter of
    the time or more. Many objects count as old afterwards, so that the collector does not scan them at once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_count()[0] > _MANY and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@contextmanager
def kept_objects() -> Iterator[None]:
    """Pause the collector within the block; afterwards, exempt all current objects from its searches, which
    are rarer from then on.

    For a load whose result lives long; only a large one has these effects. Before the next one has them, what
    was replaced since the last is freed.
    """
    with no_garbage_collection():
        yield
        if gc.get_count()[0] < _MANY:
            return
        if gc.get_freeze_count():
            gc.unfreeze()
            gc.collect()
        gc.freeze()
        young, *older = gc.get_threshold()
        if 0 < young < _NEW:
            gc.set_threshold(_NEW, *older)
