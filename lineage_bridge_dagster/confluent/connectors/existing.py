"""The topics that exist in a cluster."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice


class ExistingTopics(Collection[str]):
    """All topics of a cluster, sorted.

    A cluster has thousands of topics and thousands of connectors. Make it once for all of them: sorting the
    topics takes longer than reading a configuration.
    """

    def __init__(self, topics: Iterable[str] = ()) -> None:
        self._all = frozenset(topics)
        self._sorted = sorted(self._all)

    @classmethod
    def of(cls, topics: Iterable[str]) -> ExistingTopics:
        """The topics, as they are if they were sorted before."""
        return topics if isinstance(topics, cls) else cls(topics)

    def __contains__(self, topic: object) -> bool:
        return topic in self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._sorted)

    def __len__(self) -> int:
        return len(self._all)

    def starting(self, prefix: str) -> Iterator[str]:
        """The topics that start with a prefix, in order."""
        return _starting(self._sorted, prefix)

    def between(self, prefix: str, suffix: str) -> Iterator[str]:
        """The topics that start with a prefix and end with a suffix that does not overlap it."""
        if len(prefix) >= len(suffix):
            found = self.starting(prefix)
        else:
            found = (topic[::-1] for topic in _starting(self._reversed, suffix[::-1]))
        least = len(prefix) + len(suffix)
        return (
            topic
            for topic in found
            if len(topic) >= least and topic.startswith(prefix) and topic.endswith(suffix)
        )

    @cached_property
    def by_lower_case(self) -> Mapping[str, list[str]]:
        """The topics by their name in lower case."""
        found: dict[str, list[str]] = {}
        for topic in self._sorted:
            found.setdefault(topic.lower(), []).append(topic)
        return found

    @cached_property
    def _reversed(self) -> list[str]:
        return sorted(topic[::-1] for topic in self._all)


def _starting(names: list[str], prefix: str) -> Iterator[str]:
    """The names, of sorted ones, that start with a prefix."""
    for name in islice(names, bisect_left(names, prefix), None):
        if not name.startswith(prefix):
            return
        yield name
