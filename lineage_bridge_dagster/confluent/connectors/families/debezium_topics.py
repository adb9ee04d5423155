"""How Debezium's connectors name topics, and the tables that topics tell.

Source: `AbstractTopicNamingStrategy` and its subclasses, `Selectors` and `Predicates` of debezium/debezium.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.family import SourceContext
from lineage_bridge_dagster.confluent.connectors.java_regex import replace_whole

_OWN = re.compile(r"(?:io\.debezium\.schema\.(?:Default|Schema)(?:Regex|Unicode)?TopicNamingStrategy)?")
_VITESS = "io.debezium.connector.vitess.TableTopicNamingStrategy"
#: The longest name of a topic; Debezium truncates longer ones.
_MOST_CHARS = 249
#: Splits of a topic's name at a delimiter that may also occur in names.
_MOST_SPLITS = 500
_ESCAPE = re.compile(r"_u([0-9a-f]{4})")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DebeziumTopicNames:
    """A connector's topic names.

    Attributes:
        prefix: Its logical name.
        delimiter: Between the parts of a name.
        strategy: Class of its naming strategy, empty for the default.
        regex: The expression of strategies that rewrite the default name.
        replacement: What these strategies replace its matches with.
    """

    prefix: str
    delimiter: str = "."
    strategy: str = ""
    regex: str = ""
    replacement: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the strategy is one of Debezium's own."""
        return self.hides_container or _OWN.fullmatch(self.strategy) is not None

    @property
    def is_unicode(self) -> bool:
        return "Unicode" in self.strategy

    @property
    def hides_container(self) -> bool:
        """Whether topics are named for the table alone, by Vitess's own strategy."""
        return self.strategy == _VITESS

    @property
    def start(self) -> str:
        """How all topics of tables start, unless the strategy rewrites them."""
        return self.cleaned(self.prefix + self.delimiter)

    @property
    def is_rewritten(self) -> bool:
        return "RegexTopic" in self.strategy

    def topic(self, path: Path) -> str:
        """The topic of a table.

        Raises:
            BadRegexError: The strategy's expression is not valid.
        """
        name = self.cleaned(self.delimiter.join([self.prefix, *filter(None, path)]))[:_MOST_CHARS]
        return (replace_whole(self.regex, self.replacement, name) or name) if self.is_rewritten else name

    def paths(self, topic: str, depth: int, *, open_end: bool = False) -> list[Path]:
        """The tables that a topic may be of, with characters as in the topic.

        Args:
            depth: The number of parts of a table's name.
            open_end: Whether the last part may hold the delimiter.
        """
        if not topic.startswith(self.start):
            return []
        parts = topic[len(self.start) :].split(self.delimiter)
        if not all(parts) or len(parts) < depth:
            return []
        if self.delimiter == ".":
            if len(parts) > depth and not open_end:
                return []
            found = [(*parts[: depth - 1], ".".join(parts[depth - 1 :]))]
        else:
            found = []
            for ends in combinations(range(1, len(parts)), depth - 1):
                if len(found) == _MOST_SPLITS:
                    break
                cuts = [0, *ends, len(parts)]
                found.append(tuple(self.delimiter.join(parts[low:high]) for low, high in pairwise(cuts)))
        if self.is_unicode:
            found = [
                tuple(_ESCAPE.sub(lambda m: chr(int(m[1], 16)), part) for part in path) for path in found
            ]
        return found

    def cleaned(self, name: str) -> str:
        """A name without the characters that a topic's name cannot have."""
        if self.is_unicode:
            return re.sub(r"[^A-Za-z0-9.-]", lambda match: f"_u{ord(match[0]):04x}", name)
        return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)


def topic_names(config: Config, prefix: str) -> DebeziumTopicNames:
    """Read a connector's topic names."""
    strategy = config.get("topic.naming.strategy")
    if strategy == _VITESS:
        prefix = config.get("override.data.change.topic.prefix", default=prefix)
    return DebeziumTopicNames(
        prefix,
        config.get("topic.delimiter", default="."),
        strategy,
        config.get("topic.regex"),
        config.get("topic.replacement"),
    )


def internal_topics(context: SourceContext, names: DebeziumTopicNames) -> Iterator[str]:
    """The topics that a connector writes or reads besides those of tables."""
    config, prefix, lcc = context.config, names.prefix, context.connector.id or ""
    yield prefix
    history = ("schema.history.internal.kafka.topic", "database.history.kafka.topic")
    for topic in (config.get(*history), f"dbhistory.{prefix}", f"dbhistory.{prefix}.{lcc}"):
        yield topic.replace("${topic.prefix}", prefix).replace("{{.logicalClusterId}}", lcc)
    heartbeats = config.get(
        "topic.heartbeat.prefix", "heartbeat.topics.prefix", default="__debezium-heartbeat"
    )
    for heartbeat in {heartbeats, f"__debezium-heartbeat-{lcc}"}:
        yield names.delimiter.join([heartbeat, prefix])
    yield config.get("topic.heartbeat.name")
    for transaction in {config.get("topic.transaction", default="transaction"), f"{lcc}.transaction"}:
        # Before 1.9 the whole name was configured.
        yield transaction
        yield names.delimiter.join([prefix, transaction.replace("{{.logicalClusterId}}", lcc)])
    yield config.get("transaction.topic", default=f"{prefix}.transaction").replace(
        "${database.server.name}", prefix
    )
    yield config.get("notification.sink.topic.name")
    yield config.get("signal.kafka.topic", default=f"{prefix}-signal")
    yield config.get("override.schema.change.topic")
    yield f"__orcl-schema-changes.{prefix}.{lcc}"
    for key, default in (
        ("sync", "_sync_topic_spanner_connector_"),
        ("rebalancing", "_rebalancing_topic_spanner_connector_"),
    ):
        yield config.get(f"connector.spanner.{key}.topic", default=default) + context.connector.name
