"""Single message transforms that change the topic of a record."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    compile_java,
    full_matches,
    replace_whole,
)

_ROUTERS = {
    "org.apache.kafka.connect.transforms.RegexRouter": ("regex", "replacement"),
    "io.confluent.connect.cloud.transforms.TopicRegexRouter": ("regex", "replacement"),
    "io.debezium.transforms.ByLogicalTableRouter": ("topic.regex", "topic.replacement"),
}
_TIMESTAMPED = (
    "org.apache.kafka.connect.transforms.TimestampRouter",
    "io.confluent.connect.transforms.MessageTimestampRouter",
)
_OUTBOX = "io.debezium.transforms.outbox.EventRouter"
#: Packages whose other transforms do not change the topic.
_TOPIC_NEUTRAL = (
    "org.apache.kafka.connect.transforms.",
    "io.confluent.connect.transforms.",
    "io.debezium.transforms.",
    "io.confluent.connect.cloud.transforms.",
)


@dataclass(slots=True)
class Routing:
    """The topic-changing transforms of one source connector, in order.

    Attributes:
        steps: Topic -> the topics that its records may go to.
        warnings: Transforms whose effect is not fully known.
        confidence: Of the resulting topics.
    """

    steps: list[Callable[[str], list[str]]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    confidence: float = 1.0

    def __bool__(self) -> bool:
        return bool(self.steps)

    def route(self, name: str) -> list[str]:
        """The topics that the records of a topic go to after all transforms.

        A router returns one; a transform whose target depends on the data returns all matching topics of the
        cluster.
        """
        names = [name]
        for step in self.steps:
            names = [routed for name in names for routed in step(name)]
        return names


def routing_of(config: Config, cluster_topics: list[str]) -> Routing:
    """Read the `transforms` in a source's configuration."""
    routing = Routing()
    for label in config.items("transforms"):
        _add_step(routing, config, f"transforms.{label}.", cluster_topics)
    return routing


def _add_step(routing: Routing, config: Config, prefix: str, cluster_topics: list[str]) -> None:
    kind = config.get(prefix + "type").removesuffix("$Key").removesuffix("$Value")
    if kind in _ROUTERS:
        regex, replacement = (config.get(prefix + name) for name in _ROUTERS[kind])
        try:
            compile_java(regex)
            replace_whole(regex, replacement, "")
        except BadRegexError as error:
            routing.warnings.append(f"transform {prefix}type: cannot apply {error}")
            routing.confidence = 0.5
            return
        routing.steps.append(lambda name: [replace_whole(regex, replacement, name)])
    elif kind in _TIMESTAMPED:
        template = config.get(prefix + "topic.format", default="${topic}-${timestamp}")
        routing.steps.append(lambda name: _matching(template, {"topic": name}, cluster_topics))
        routing.confidence = min(routing.confidence, 0.7)
    elif kind == _OUTBOX:
        template = config.get(
            prefix + "route.topic.replacement", default="outbox.event.${routedByValue}"
        ).replace("$1", "${routedByValue}")
        routing.steps.append(lambda _name: _matching(template, {}, cluster_topics))
        routing.confidence = min(routing.confidence, 0.5)
        routing.warnings.append(f"transform {kind}: topics depend on the data; matched {template} by name")
    elif "ExtractTopic" in kind:
        routing.steps.append(lambda _name: [])
        routing.warnings.append(
            f"transform {kind}: the topic is in the record and not known from the configuration"
        )
    elif kind and not kind.startswith(_TOPIC_NEUTRAL):
        routing.warnings.append(f"transform {kind} is unknown; it is assumed not to change the topic")
        routing.confidence = min(routing.confidence, 0.8)


def _matching(template: str, known: dict[str, str], cluster_topics: list[str]) -> list[str]:
    """The cluster's topics that match a template with `${...}` variables, some of them known."""
    parts = re.split(r"\$\{(\w+)\}", template)
    pattern = "".join(
        re.escape(part) if number % 2 == 0 else re.escape(known[part]) if part in known else ".+"
        for number, part in enumerate(parts)
    )
    return full_matches(pattern, cluster_topics)
