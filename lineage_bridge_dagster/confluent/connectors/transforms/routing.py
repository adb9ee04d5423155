"""The chain of a connector's transforms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, SlowRegexError
from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics
from lineage_bridge_dagster.confluent.connectors.transforms.names import TopicName
from lineage_bridge_dagster.confluent.connectors.transforms.neutral import NEUTRAL
from lineage_bridge_dagster.confluent.connectors.transforms.routers import ROUTERS, Effect
from lineage_bridge_dagster.confluent.connectors.transforms.settings import (
    Step,
    TransformSettings,
    UnknownEffectError,
    depends,
    predicated,
    test_of,
)

#: Confidence after a transform that we do not know, and after one whose effect its settings do not tell.
_UNKNOWN_CLASS, _UNKNOWN_EFFECT = 0.8, 0.5
#: Confidence after a transform that works on some records only.
_SOME_RECORDS = 0.7
#: Words in the names of transforms and settings that change where a record goes. `table` and `index` alone
#: are not among them: they are what a sink writes to.
_ROUTING = re.compile(r"topic|rout|renam\w*table|collection|destination", re.IGNORECASE)
#: A chain in which each record takes its own way has no more names than this.
_MAX_NAMES = 64
#: How many names a transform may take too long for, before it is given up for all of them.
_MAX_SLOW = 2


@dataclass(slots=True)
class _Link:
    """One transform of the chain, and how often it took too long."""

    label: str
    step: Step
    slow: int = 0


@dataclass(slots=True)
class Routing:
    """The transforms of one connector that change or may change topics, in order.

    Attributes:
        warnings: Transforms whose effect is not fully known. Grows while names are routed.
        confidence: The confidence in the resulting topics.
    """

    existing: ExistingTopics = field(default_factory=ExistingTopics)
    links: list[_Link] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    confidence: float = 1.0
    #: What `_among` has found, by name.
    _found: dict[TopicName, list[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.links)

    def route(self, name: str) -> list[str]:
        """The topics to which a source writes what it would write to a topic without transforms."""
        return list(self.routed(name))

    def routed(self, name: str) -> dict[str, bool]:
        """The topics of `route`, each with whether it is inferred from its name.

        What depends on the record or the time is matched with the existing topics.
        """
        found: dict[str, bool] = {}
        for outcome in self.names(name):
            exact = outcome.exact
            if exact is None:
                for topic in self._among(outcome):
                    found.setdefault(topic, True)
            elif exact in self.existing or (exact and outcome.sure):
                found[exact] = False
            elif outcome.sure:
                self._warn(f"its transforms leave nothing of the name {name}")
        return found

    def route_target(self, name: str) -> str | None:
        """The name under which a sink sees a topic's records.

        None if that is not one known name: it depends on the record or the time, or no record arrives.
        """
        outcomes = self.names(name)
        return outcomes[0].exact or None if len(outcomes) == 1 else None

    def template(self, name: str) -> str:
        """`route_target` with `${...}` for what depends on the record or the time: `orders-${timestamp}`.

        Empty if there is no such one name.
        """
        outcomes = self.names(name)
        return outcomes[0].text if len(outcomes) == 1 and outcomes[0].sure else ""

    def drops(self, name: str) -> bool:
        """Whether all records of a topic are dropped."""
        return not self.names(name)

    def names(self, name: str) -> list[TopicName]:
        """The names that a topic's records may have after all transforms."""
        names = [TopicName((name,))]
        for link in self.links:
            names = list(dict.fromkeys(after for before in names for after in self._applied(link, before)))
            if len(names) > _MAX_NAMES:
                self._warn("its transforms have too many possible effects")
                return [names[0].unknown()]
        return names

    def _applied(self, link: _Link, name: TopicName) -> list[TopicName]:
        if link.slow >= _MAX_SLOW:
            return [name.unknown()]
        try:
            return link.step(name)
        except BadRegexError as error:
            link.slow += isinstance(error, SlowRegexError)
            self._warn(f"{link.label} cannot be applied to {name.text[:249]}: {error}")
            return [name.unknown()]

    def _among(self, name: TopicName) -> list[str]:
        if name not in self._found:
            self._found[name] = []
            try:
                self._found[name] = name.among(self.existing)
            except BadRegexError as error:
                self._warn(f"topics like {name.text} cannot be found: {error}")
        return self._found[name]

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


def routing_of(config: Config, cluster_topics: ExistingTopics) -> Routing:
    """Read the `transforms` of a connector, source or sink."""
    routing = Routing(cluster_topics)
    for label in dict.fromkeys(config.items("transforms")):
        settings = TransformSettings(config, f"transforms.{label}.", routing.existing, routing.warnings)
        effect = _effect(settings)
        if effect.step is None:
            continue
        test = test_of(settings)
        step = effect.step if test is None else predicated(effect.step, test)
        routing.links.append(_Link(f"transforms.{label}", step))
        routing.confidence = min(
            routing.confidence, effect.confidence, _SOME_RECORDS if test is depends else 1.0
        )
    return routing


def _effect(settings: TransformSettings) -> Effect:
    kind = _class_name(settings.type)
    if kind in NEUTRAL:
        return Effect(None)
    build = ROUTERS.get(kind)
    if build is None and kind and not _may_route(settings):
        settings.warn("an unknown transform, taken for one that leaves the topic's name alone")
        # Most do. What a source writes counts only if such a topic exists.
        return Effect(lambda name: [name.unsure()], _UNKNOWN_CLASS)
    if build is None:
        if kind:
            settings.warn("an unknown transform: a topic counts only if it exists under its name before it")
        else:
            settings.warnings.append(f"{settings.prefix}type is not set: set the transform's class")
        return Effect(lambda name: [name.unsure(), name.unknown().unsure()], _UNKNOWN_CLASS)
    try:
        return build(settings)
    except (UnknownEffectError, BadRegexError) as error:
        settings.warn(f"{error}; the topics after it are not known")
        return Effect(lambda name: [name.unknown()], _UNKNOWN_EFFECT)


def _may_route(settings: TransformSettings) -> bool:
    """Whether the name of an unknown transform, or of a setting of its own, speaks of topics or routes."""
    words = [settings.type.rpartition(".")[2], *settings.names()]
    return any(_ROUTING.search(word) for word in words)


def _class_name(kind: str) -> str:
    """The full name of a class, which Kafka Connect also takes by its simple name."""
    if "." in kind:
        return kind
    found = [name for name in (*ROUTERS, *NEUTRAL) if name.rpartition(".")[2] == kind]
    routers = [name for name in found if name in ROUTERS]
    return found[0] if len(found) == 1 or (found and not routers) else kind
