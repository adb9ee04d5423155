"""The settings of one transform or predicate, and on which records a transform works.

Source: Kafka Connect's `PredicatedTransformation` and the package `transforms.predicates` (Kafka 4). A
predicate sees the topic's name as it is before its transform, after those in front of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lineage_bridge_dagster.confluent.connectors.config import UNRESOLVED, Config
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, check, full_matches
from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics
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


#: Whether a predicate holds for the records with a name; None if it holds for some of them.
Test = Callable[[TopicName], bool | None]

_PACKAGE = "org.apache.kafka.connect.transforms.predicates."
#: They look at the record itself.
_BY_RECORD = frozenset({"HasHeaderKey", "RecordIsTombstone"})


def test_of(transform: TransformSettings) -> Test | None:
    """The predicate of a transform; None without one. `depends` if the configuration does not decide it."""
    try:
        label = transform.get("predicate")
        negated = transform.flag("negate")
        test = _test(transform, label) if label else None
    except (UnknownEffectError, BadRegexError) as error:
        transform.warn(f"{error}; it may or may not apply to a record")
        return depends
    if test in (None, depends) or not negated:
        return test

    def opposite(name: TopicName) -> bool | None:
        answer = test(name)
        return None if answer is None else not answer

    return opposite


def depends(_name: TopicName) -> bool | None:
    """The test of a predicate that depends on the record."""
    return None


def _test(transform: TransformSettings, label: str) -> Test:
    config = transform.config
    predicate = TransformSettings(config, f"predicates.{label}.", transform.existing, transform.warnings)
    kind = predicate.type.removeprefix(_PACKAGE)
    if not kind:
        raise UnknownEffectError(
            f"{transform.prefix}predicate is {label}, but predicates.{label}.type is not set: set its class"
        )
    if label not in config.items("predicates"):
        transform.warn(f"predicates does not list {label}: add it to predicates")
    if kind == "TopicNameMatches":
        (pattern,) = predicate.required("pattern")
        check(pattern)
        return lambda name: name.tested(lambda text: bool(full_matches(pattern, [text])))
    if kind not in _BY_RECORD:
        transform.warn(f"the predicate {kind} is unknown; it may or may not apply to a record")
    return depends


def predicated(step: Step, test: Test) -> Step:
    """A transform that works only on the records for which a predicate holds."""

    def apply(name: TopicName) -> list[TopicName]:
        answer = test(name)
        if answer is not None:
            return step(name) if answer else [name]
        changed = step(name)
        # Without the records that it drops, the others stay.
        if not changed or changed == [name]:
            return [name]
        return [name.unsure(), *(each.unsure() for each in changed)]

    return apply
