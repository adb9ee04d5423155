"""Other Kafka clusters: MirrorMaker 2, Confluent Replicator and the data diode.

Sources: DefaultTopicFilter, DefaultReplicationPolicy and IdentityReplicationPolicy of Apache Kafka, and
Replicator's configuration reference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.family import (
    SourceContext,
    WrittenTopic,
    named_for,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    full_matches,
    is_literal,
    literal,
)

_MIRROR = "org.apache.kafka.connect.mirror."
_REPLICATOR = "confluent:replicator."
#: MirrorMaker's own topics, which hold no data, and those that it never replicates.
_INTERNAL = ("heartbeats", "mm2-offset-syncs.")
_INTERNAL_ENDS = (".internal", "-internal", ".heartbeats")
_EXCLUDED = r".*[\-\.]internal, .*\.replica, __.*"
#: Policies that keep a topic's name.
_IDENTITY = ("IdentityReplicationPolicy", "LegacyReplicationPolicy")


def _matching(
    context: SourceContext, key: str, expressions: Iterable[str], topics: Collection[str]
) -> list[str]:
    """The topics that one of the expressions matches; a bad one is left out with a warning."""
    unique = dict.fromkeys(expressions)
    found = {literal(expression) for expression in unique if is_literal(expression)}
    for expression in unique:
        try:
            if not is_literal(expression):
                found.update(full_matches(expression, topics))
        except BadRegexError as error:
            context.warnings.append(f"{key}: cannot apply {error}")
    return [topic for topic in topics if topic in found]


def _is_internal(topic: str) -> bool:
    return topic.startswith((*_INTERNAL, "__", ".")) or topic.endswith(_INTERNAL_ENDS)


@source_family("mirror", _MIRROR + "MirrorSourceConnector")
def mirror(context: SourceContext) -> Iterator[WrittenTopic]:
    """The topics of `topics`: those named there, and those that exist here and that an expression matches."""
    config = context.config
    context.internal += [topic for topic in context.cluster_topics if _is_internal(topic)]
    policy = config.get("replication.policy.class").rpartition(".")[2]
    alias, separator = config.given("source.cluster.alias", "source"), "replication.policy.separator"
    prefix = "" if policy in _IDENTITY else alias + config.given(separator, ".")
    if policy and policy not in ("DefaultReplicationPolicy", *_IDENTITY):
        context.warnings.append(f"replication.policy.class {policy} is unknown; taken for Kafka's default")
    included = config.items("topics", "topics.whitelist", default=".*")
    excluded = config.items("topics.exclude", "topics.blacklist", default=_EXCLUDED)
    if not prefix and (everything := [item for item in included if item in (".*", ".+")]):
        context.warnings.append(
            f"topics is {everything[0]} and names are kept: which topics it writes is not known"
        )
        included = [item for item in included if item not in everything]
    candidates = context.named_like(prefix) if prefix else context.cluster_topics
    named = [literal(item) for item in included if is_literal(item)]
    topics = [*named]
    topics += _matching(context, "topics", [item for item in included if not is_literal(item)], candidates)
    dropped = set(_matching(context, "topics.exclude", excluded, topics))
    for topic in dict.fromkeys(topics):
        if topic not in dropped and not _is_internal(topic):
            server = config.get("source.cluster.bootstrap.servers", "source.bootstrap.servers")
            dataset = naming.KAFKA(host=server, topic=topic)
            yield named_for(prefix + topic, dataset, listed=topic in named)


def _bookkeeping(*topics: str) -> Callable[[SourceContext], Iterator[WrittenTopic]]:
    """A connector that only writes MirrorMaker's own topics."""

    def source(context: SourceContext) -> Iterator[WrittenTopic]:
        alias = context.config.get("source.cluster.alias", default="source")
        own = [topic.replace("{alias}", alias) for topic in topics]
        context.internal += [topic for topic in own if topic in context.cluster_topics]
        yield from ()

    return source


@source_family("replicator", _REPLICATOR + "ReplicatorSourceConnector")
def replicator(context: SourceContext) -> Iterator[WrittenTopic]:
    """The topics of the whitelist, and those that the expression matches and that exist here, renamed."""
    config = context.config
    template = config.get("topic.rename.format", default="${topic}")
    before, variable, after = template.partition("${topic}")
    excluded = {*config.items("topic.blacklist", "topic.exclude")}
    named = config.items("topic.whitelist", "topic.include")
    topics = [*named]
    if pattern := config.get("topic.regex"):
        if not variable:
            context.warnings.append(
                f"topic.rename.format {template} has no ${{topic}}: which topics it copies is not known"
            )
        renamed = context.cluster_topics.between(before, after) if variable else ()
        copied = [topic[len(before) : len(topic) - len(after)] for topic in renamed]
        topics += _matching(context, "topic.regex", [pattern], [topic for topic in copied if topic])
    if not topics and not config.get("topic.regex"):
        context.warnings.append("neither topic.whitelist nor topic.regex is set: its topics are not known")
    for topic in dict.fromkeys(topics):
        if topic not in excluded:
            server = config.get("src.kafka.bootstrap.servers")
            dataset = naming.KAFKA(host=server, topic=topic)
            yield named_for(template.replace("${topic}", topic), dataset, listed=topic in named)


@source_family("data-diode", "confluent:diode.source.DataDiodeSourceConnector", has_dataset=False)
def data_diode(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics under a prefix, sent by a sink over a one-way network link."""
    prefix = context.config.get("kafka.topic.prefix")
    for topic in context.named_like(prefix):
        yield named_for(prefix + topic)


sink_family("data-diode", "confluent:diode.sink.DataDiodeSinkConnector", has_dataset=False)(
    lambda _context, _topic: ""
)
source_family("mirror-heartbeat", _MIRROR + "MirrorHeartbeatConnector", has_dataset=False)(
    _bookkeeping("heartbeats", "{alias}.heartbeats")
)
source_family("mirror-checkpoint", _MIRROR + "MirrorCheckpointConnector", has_dataset=False)(
    _bookkeeping("{alias}.checkpoints.internal", "mm2-offset-syncs.{alias}.internal")
)
