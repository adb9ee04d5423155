"""The topics of a cluster, by how their names start and end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice


class ExistingTopics:
    """All topics of a cluster."""

    def __init__(self, topics: Iterable[str] = ()) -> None:
        self._all = frozenset(topics)
        self._sorted = sorted(self._all)
        self._reversed = sorted(topic[::-1] for topic in self._all)

    def __contains__(self, topic: str) -> bool:
        return topic in self._all

    def between(self, prefix: str, suffix: str) -> Iterator[str]:
        """The topics that start with a prefix and end with a suffix that does not overlap it."""
        if len(prefix) >= len(suffix):
            found = _starting(self._sorted, prefix)
        else:
            found = (topic[::-1] for topic in _starting(self._reversed, suffix[::-1]))
        least = len(prefix) + len(suffix)
        return (
            topic
            for topic in found
            if len(topic) >= least and topic.startswith(prefix) and topic.endswith(suffix)
        )


def _starting(names: Sequence[str], prefix: str) -> Iterator[str]:
    """The names, of sorted ones, that start with a prefix."""
    for name in islice(names, bisect_left(names, prefix), None):
        if not name.startswith(prefix):
            return
        yield name
