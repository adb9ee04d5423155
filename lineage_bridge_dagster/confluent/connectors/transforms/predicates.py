"""Predicates: on which records a transform works.

Source: Kafka Connect's `PredicatedTransformation` and the package `transforms.predicates` (Kafka 4). A
predicate sees the topic's name as it is before its transform, after those in front of it.
"""

from __future__ import annotations

from collections.abc import Callable

from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, check, full_matches
from lineage_bridge_dagster.confluent.connectors.transforms.names import TopicName
from lineage_bridge_dagster.confluent.connectors.transforms.settings import (
    Step,
    TransformSettings,
    UnknownEffectError,
)

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
