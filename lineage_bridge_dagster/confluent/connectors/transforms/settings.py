"""The settings of one transform or predicate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lineage_bridge_dagster.confluent.connectors.config import UNRESOLVED, Config
from lineage_bridge_dagster.confluent.connectors.existing import ExistingTopics
from lineage_bridge_dagster.confluent.connectors.transforms.names import TopicName

#: What a transform makes of a name: the names that its records may have after it; none if it drops them.
Step = Callable[[TopicName], list[TopicName]]

#: Keys that Kafka Connect itself reads for every transform.
_IMPLICIT = frozenset({"type", "predicate", "negate", "plugin.version"})


class UnknownEffectError(Exception):
    """A transform's settings do not tell what it does with topics. The message says what to write."""


@dataclass(frozen=True, slots=True)
class TransformSettings:
    """The settings under one label.

    Attributes:
        config: The connector's configuration.
        prefix: `transforms.route.`, for example.
        existing: The topics of the connector's cluster.
        warnings: Output: what could not be determined.
    """

    config: Config
    prefix: str
    existing: ExistingTopics
    warnings: list[str]

    @property
    def type(self) -> str:
        """The class, without `$Key` or `$Value`."""
        return self.config.get(f"{self.prefix}type").partition("$")[0]

    def names(self) -> list[str]:
        """The names of its own settings."""
        keys = [*self.config.keys()]
        names = (key.removeprefix(self.prefix) for key in keys if key.startswith(self.prefix))
        return [name for name in names if name not in _IMPLICIT]

    def get(self, name: str, default: str = "") -> str:
        """A setting.

        Raises:
            UnknownEffectError: Only the Connect worker knows its value.
        """
        value = self.config.get(self.prefix + name, default=default)
        if UNRESOLVED in value:
            raise UnknownEffectError(
                f"{self.prefix}{name} refers to a value that only the Connect worker knows"
            )
        return value

    def required(self, *names: str) -> list[str]:
        """TransformSettings without a default.

        Raises:
            UnknownEffectError: One is missing, or only the Connect worker knows it.
        """
        values = [self.get(name) for name in names]
        if all(values):
            return values
        missing = " and ".join(
            self.prefix + name for name, value in zip(names, values, strict=True) if not value
        )
        others = [self.prefix + name for name in self.names() if name not in names]
        instead = f" (it has {', '.join(sorted(others)[:5])})" if others else ""
        raise UnknownEffectError(
            f"{self.type.rpartition('.')[2]} needs {' and '.join(names)}: set {missing}{instead}"
        )

    def flag(self, name: str) -> bool:
        return self.get(name).lower() == "true"

    def warn(self, text: str) -> None:
        self.warnings.append(f"{self.prefix}type {self.type}: {text}")
