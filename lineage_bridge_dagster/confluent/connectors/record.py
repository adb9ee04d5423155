"""What goes into the connector knowledge, and what comes out of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ConnectorRecord:
    """One connector, as the Connect API tells it (`connect-v1`, `expand=info,status,id`).

    `type` is `info.type`, else `status.type`; never the config's own `type`, which may be wrong. `id` is the
    `lcc-...` of a managed connector, None for a self-managed one.
    """

    name: str
    type: str = ""
    id: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    state: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorLineage:
    """What a connector's configuration says that it reads and writes.

    Topics are the cluster's names, datasets are named as the OpenLineage spec names them. `dlq_topics` and
    `report_topics` (an HTTP sink's success and error topics) are among `topics_written` too.
    `internal_topics` are a source's own bookkeeping and no lineage. `family` is empty for an unknown class.
    """

    direction: str = ""
    family: str = ""
    topics_read: tuple[str, ...] = ()
    topics_written: tuple[str, ...] = ()
    datasets_read: tuple[str, ...] = ()
    datasets_written: tuple[str, ...] = ()
    dlq_topics: tuple[str, ...] = ()
    report_topics: tuple[str, ...] = ()
    internal_topics: tuple[str, ...] = ()
    confidence: float = 1.0
    warnings: tuple[str, ...] = ()


class Config:
    """A connector's configuration with typed, forgiving access. A blank value is an absent one."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = {str(key): str(value).strip() for key, value in values.items() if value is not None}

    def get(self, *names: str, default: str = "") -> str:
        """The first of these keys that has a value."""
        for name in names:
            if value := self._values.get(name, ""):
                return value
        return default

    def items(self, *names: str) -> list[str]:
        """The first of these keys that has a value, split at commas."""
        return [part for raw in self.get(*names).split(",") if (part := raw.strip())]

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.get(name).lower()
        return default if not value else value in ("true", "yes", "1")

    def pairs(self, name: str, separator: str = ":", *, reverse: bool = False) -> dict[str, str]:
        """`a:b,c:d` as a mapping; `reverse` splits at the last separator; halves are left out."""
        found: dict[str, str] = {}
        for item in self.items(name):
            left, middle, right = item.rpartition(separator) if reverse else item.partition(separator)
            if middle and left.strip() and right.strip():
                found[left.strip()] = right.strip()
        return found

    def numbered(self, pattern: str, limit: int = 50) -> Iterable[tuple[int, str]]:
        """The values of `api{n}.topics` and the like, for `pattern` with `{n}` in it."""
        for number in range(1, limit + 1):
            if value := self.get(pattern.format(n=number)):
                yield number, value
