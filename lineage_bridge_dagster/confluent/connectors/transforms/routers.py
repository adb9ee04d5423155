"""Transforms that change the topic of a record, each as a function of the name.

A builder reads a transform's settings and returns its step. Each names the source of its rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    capturing_groups,
    check,
    full_matches,
    of_re2,
    replace_whole,
    replacement_parts,
)
from lineage_bridge_dagster.confluent.connectors.transforms.cases import CASE_FORMATS, NAMING_STYLES
from lineage_bridge_dagster.confluent.connectors.transforms.dates import BadDateFormatError, timestamp
from lineage_bridge_dagster.confluent.connectors.transforms.names import TopicName, Variable, variable_of
from lineage_bridge_dagster.confluent.connectors.transforms.settings import (
    Step,
    TransformSettings,
    UnknownEffectError,
)

#: Confidence of topics that depend on the time, and of topics that depend on the record.
BY_TIME, BY_RECORD = 0.7, 0.5


@dataclass(frozen=True, slots=True)
class Effect:
    """What a transform does.

    Attributes:
        step: What it does to names; None if it leaves them alone.
        confidence: The confidence in the names that it returns.
    """

    step: Step | None
    confidence: float = 1.0


Builder = Callable[[TransformSettings], Effect]


def _regex_router(regex: str, replacement: str, *, keeps_empty: bool = False, re2: bool = False) -> Builder:
    """If the expression matches the whole name, its first match is replaced; else no change.

    Source: `RegexRouter` (Kafka), `ByLogicalTableRouter` (Debezium), `TopicRegexRouter` (Confluent's
    documentation: as RegexRouter, by RE2/J).

    Args:
        regex: The key of the expression.
        replacement: The key of the replacement.
        keeps_empty: Whether a name stays as it is if it would become empty.
        re2: Whether the expression is one of RE2/J.
    """

    def build(settings: TransformSettings) -> Effect:
        # The replacement must be there, but may be blank.
        is_blank = not settings.config.given(settings.prefix + replacement, "absent")
        given, text = [*settings.required(regex), ""] if is_blank else settings.required(regex, replacement)
        pattern = of_re2(given) if re2 else given
        check(pattern)
        try:
            check(pattern, text)
        except BadRegexError as error:
            settings.warn(f"{error}: it fails on each topic that {regex} matches")

        def rename(name: str) -> str:
            return replace_whole(pattern, text, name) or (name if keeps_empty else "")

        return Effect(lambda name: [name.mapped(rename)])

    return build


def _timestamp_router(timestamp_format: str) -> Builder:
    """`${topic}` and `${timestamp}` in `topic.format`.

    Source: `TimestampRouter` (Kafka), `MessageTimestampRouter` (Confluent's documentation).
    """

    def build(settings: TransformSettings) -> Effect:
        template = settings.get("topic.format", "${topic}-${timestamp}")
        try:
            variable = timestamp(settings.get(timestamp_format, "yyyyMMdd"))
        except BadDateFormatError as error:
            raise UnknownEffectError(f"{settings.prefix}{timestamp_format}: {error}") from error

        def step(name: TopicName) -> list[TopicName]:
            parts: list[str | Variable] = []
            for number, piece in enumerate(template.split("${timestamp}")):
                parts += [variable] if number else []
                for index, text in enumerate(piece.split("${topic}")):
                    parts += [*name.parts, text] if index else [text]
            return [TopicName(tuple(part for part in parts if part), name.sure)]

        return Effect(step, BY_TIME if "${timestamp}" in template else 1.0)

    return build


def _renamed(rename: Callable[[str], str]) -> Effect:
    return Effect(lambda name: [name.mapped(rename)])


def _change_topic_case(settings: TransformSettings) -> Effect:
    """Source: `ChangeTopicCase` of kafka-connect-transform-common."""
    given = settings.required("from", "to")
    formats = [CASE_FORMATS.get(value) for value in given]
    old, new = formats
    if old is None or new is None:
        raise UnknownEffectError(
            f"{settings.prefix}from and {settings.prefix}to must be one of {', '.join(CASE_FORMATS)}"
        )
    return _renamed(lambda name: old.to(new, name))


def _collection_name(settings: TransformSettings) -> Effect:
    """Source: `CollectionNameTransformation` of Debezium's JDBC sink."""
    prefix, suffix = settings.get("collection.naming.prefix"), settings.get("collection.naming.suffix")
    style = settings.get("collection.naming.style", "default")
    function = NAMING_STYLES.get(style.lower())
    if function is None:
        raise UnknownEffectError(
            f"{settings.prefix}collection.naming.style is {style}, not one of {', '.join(NAMING_STYLES)}"
        )
    return _renamed(lambda name: prefix + function(name) + suffix)


def _by_record(what: str) -> Builder:
    """The record holds the topic. If the flag `skip.missing.or.null` is set, one without keeps its own.

    Source: `ExtractTopic` (Confluent's documentation, Aiven, ClickHouse), `SchemaNameToTopic`.

    Args:
        what: Where in the record, for the warning.
    """

    def build(settings: TransformSettings) -> Effect:
        field = settings.get("field", settings.get("field.name"))
        stays = settings.flag("skip.missing.or.null")
        settings.warn(f"the topic is in {what}{f' ({field})' if field else ''}, and not known")

        def step(name: TopicName) -> list[TopicName]:
            routed = TopicName((Variable(field or "record"),), name.sure)
            return [name.unsure(), routed.unsure()] if stays else [routed]

        return Effect(step, BY_RECORD)

    return build


def _content_based_router(settings: TransformSettings) -> Effect:
    """A script returns the topic, or null for no change. Source: `ContentBasedRouter` of Debezium."""
    regex = settings.get("topic.regex")
    if regex:
        check(regex)
    settings.warn("a script decides on the topic, which is not known")

    def step(name: TopicName) -> list[TopicName]:
        if regex and name.tested(lambda text: bool(full_matches(regex, [text]))) is False:
            return [name]
        return [name.unsure(), name.unknown().unsure()]

    return Effect(step, BY_RECORD)


def _unwrap(settings: TransformSettings) -> Effect:
    """Source: `ExtractNewRecordState` of Debezium: a column holds the topic if `route.by.field` is set."""
    column = settings.get("route.by.field")
    if not column:
        return Effect(None)
    settings.warn(f"the topic is in the column {column} (route.by.field), and not known")
    return Effect(lambda name: [TopicName((Variable(column),), name.sure)], BY_RECORD)


def _schema_name(settings: TransformSettings) -> Effect:
    """The schema's name, by a map or an expression. Source: `ExtractTopicFromSchemaName` of Aiven."""
    pairs = settings.config.pairs(f"{settings.prefix}schema.name.topic-map")
    settings.warn("the topic depends on the name of the record's schema, and is not known")
    topics = [TopicName((topic,), sure=False) for topic in dict.fromkeys(pairs.values())]
    return Effect(lambda _name: [*topics, TopicName((Variable("schema"),), sure=False)], BY_RECORD)


def _event_router(settings: TransformSettings) -> Effect:
    """A column of the outbox table, through a RegexRouter. Source: `EventRouter` of Debezium.

    Confluent Cloud's EventRouter takes expressions of RE2/J.
    """
    pattern = settings.get("route.topic.regex", "(?<routedByValue>.*)")
    try:
        check(pattern)
    except BadRegexError:
        pattern = of_re2(pattern)
    replacement = settings.get("route.topic.replacement", "outbox.event.${routedByValue}")
    check(pattern, replacement)
    name = TopicName(_parts(pattern, replacement))
    if name.exact and variable_of("", pattern).is_open:
        # Whatever the column holds.
        return _renamed(lambda _name: replacement)
    if not name.is_telling:
        settings.warn(
            f"its topics are named by the column {settings.get('route.by.field', 'aggregatetype')} alone and "
            f"not known; put a fixed text into {settings.prefix}route.topic.replacement"
        )
    elif not name.among(settings.existing):
        settings.warn(f"no topic of the cluster is named {name.text}")
    else:
        settings.warn(f"topics depend on the records; matched {name.text} by name")
    return Effect(lambda before: [replace(name, sure=before.sure)], BY_RECORD)


def _parts(pattern: str, replacement: str) -> tuple[str | Variable, ...]:
    """A replacement, with a variable for each group."""
    groups = capturing_groups(pattern)
    return tuple(
        part if isinstance(part, str) else variable_of(groups[part][0] or str(part), groups[part][1])
        for part in replacement_parts(replacement, groups)
    )


def _timescale(settings: TransformSettings) -> Effect:
    """Chunks go to the topic of their hypertable. Source: `TimescaleDb` of Debezium."""
    schemas = set(settings.config.items(f"{settings.prefix}schema.list", default="_timescaledb_internal"))
    prefix = settings.get("target.topic.prefix", "timescaledb")
    target = TopicName((f"{prefix}.", Variable("schema"), ".", Variable("table")))
    settings.warn(f"topics depend on the database's hypertables; matched {target.text} by name")

    def step(name: TopicName) -> list[TopicName]:
        exact = name.exact
        parts = exact.split(".") if exact is not None else []
        return [replace(target, sure=name.sure)] if len(parts) > 2 and parts[-2] in schemas else [name]

    return Effect(step, BY_RECORD)


def _drop(_settings: TransformSettings) -> Effect:
    """Source: `Filter` of Kafka, which drops every record that its predicate lets through."""
    return Effect(lambda _name: [])


_DEBEZIUM = "io.debezium.transforms."
_COMMON = "com.github.jcustenborder.kafka.connect.transform.common."
_FIELD = _by_record("a field of the record")

ROUTERS: Mapping[str, Builder] = {
    "org.apache.kafka.connect.transforms.RegexRouter": _regex_router("regex", "replacement"),
    "org.apache.kafka.connect.transforms.TimestampRouter": _timestamp_router("timestamp.format"),
    "org.apache.kafka.connect.transforms.Filter": _drop,
    "io.confluent.connect.cloud.transforms.TopicRegexRouter": _regex_router("regex", "replacement", re2=True),
    "io.confluent.connect.transforms.MessageTimestampRouter": _timestamp_router("topic.timestamp.format"),
    "io.confluent.connect.transforms.ExtractTopic": _FIELD,
    "io.aiven.kafka.connect.transforms.ExtractTopic": _FIELD,
    "io.aiven.kafka.connect.transforms.ExtractTopicFromSchemaName": _schema_name,
    "io.aiven.kafka.connect.transforms.ExtractTopicFromValueSchema": _schema_name,
    "com.clickhouse.kafka.connect.transforms.ExtractTopic": _FIELD,
    _DEBEZIUM + "ByLogicalTableRouter": _regex_router("topic.regex", "topic.replacement", keeps_empty=True),
    _DEBEZIUM + "ToLogicalTopicRouter": _regex_router("topic.regex", "topic.replacement", keeps_empty=True),
    _DEBEZIUM + "ContentBasedRouter": _content_based_router,
    _DEBEZIUM + "ExtractNewRecordState": _unwrap,
    _DEBEZIUM + "UnwrapFromEnvelope": _unwrap,
    _DEBEZIUM + "outbox.EventRouter": _event_router,
    "io.debezium.connector.mongodb.transforms.outbox.MongoEventRouter": _event_router,
    "io.debezium.connector.jdbc.transforms.CollectionNameTransformation": _collection_name,
    "io.debezium.connector.postgresql.transforms.timescaledb.TimescaleDb": _timescale,
    _COMMON + "ChangeTopicCase": _change_topic_case,
    _COMMON + "LowerCaseTopic": lambda _settings: _renamed(str.lower),
    _COMMON + "SchemaNameToTopic": _by_record("the name of the record's schema"),
}
