"""Single message transforms that change the topic a record goes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    compile_java,
    full_matches,
    replace_whole,
)
from lineage_bridge_dagster.confluent.connectors.record import Config

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
#: Packages whose other transforms are known to leave the topic alone.
_TOPIC_NEUTRAL = (
    "org.apache.kafka.connect.transforms.",
    "io.confluent.connect.transforms.",
    "io.debezium.transforms.",
    "io.confluent.connect.cloud.transforms.",
)


@dataclass(slots=True)
class Routing:
    """The topic-changing steps of one source connector, in order.

    `route` gives the topics that records for a name end in: one for routers, those of the cluster that fit
    for steps whose target depends on the data.
    """

    steps: list[Callable[[str], list[str]]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    confidence: float = 1.0

    def __bool__(self) -> bool:
        return bool(self.steps)

    def route(self, name: str) -> list[str]:
        names = [name]
        for step in self.steps:
            names = [out for each in names for out in step(each)]
        return names


def routing_of(config: Config, cluster_topics: list[str]) -> Routing:
    """Read `transforms` of a source's configuration."""
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
        shape = config.get(prefix + "topic.format", default="${topic}-${timestamp}")
        routing.steps.append(lambda name: _fitting(shape, {"topic": name}, cluster_topics))
        routing.confidence = min(routing.confidence, 0.7)
    elif kind == _OUTBOX:
        shape = config.get(
            prefix + "route.topic.replacement", default="outbox.event.${routedByValue}"
        ).replace("$1", "${routedByValue}")
        routing.steps.append(lambda _name: _fitting(shape, {}, cluster_topics))
        routing.confidence = min(routing.confidence, 0.5)
        routing.warnings.append(f"transform {kind}: topics depend on the data; matched {shape} by name")
    elif "ExtractTopic" in kind:
        routing.steps.append(lambda _name: [])
        routing.warnings.append(f"transform {kind}: the topic is in the record and can't be known from here")
    elif kind and not kind.startswith(_TOPIC_NEUTRAL):
        routing.warnings.append(f"transform {kind} is unknown; it is taken to leave the topic alone")
        routing.confidence = min(routing.confidence, 0.8)


def _fitting(shape: str, known: dict[str, str], cluster_topics: list[str]) -> list[str]:
    """The cluster's topics that fit `${...}` placeholders, the known ones filled in."""
    import re

    parts = re.split(r"\$\{(\w+)\}", shape)
    pattern = "".join(
        re.escape(part) if number % 2 == 0 else re.escape(known[part]) if part in known else ".+"
        for number, part in enumerate(parts)
    )
    return full_matches(pattern, cluster_topics)
