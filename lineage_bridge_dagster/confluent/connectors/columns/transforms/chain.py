"""A connector's transforms in order, and on which records each works."""

from __future__ import annotations

from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord, RecordNode, either
from lineage_bridge_dagster.confluent.connectors.columns.transforms.settings import (
    CHANGES,
    FieldSettings,
    UnknownChangeError,
    settings_of,
)
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics
from lineage_bridge_dagster.confluent.connectors.transforms.names import TopicName
from lineage_bridge_dagster.confluent.connectors.transforms.neutral import KEEP_FIELDS, NEUTRAL
from lineage_bridge_dagster.confluent.connectors.transforms.routers import ROUTERS
from lineage_bridge_dagster.confluent.connectors.transforms.routing import routing_of
from lineage_bridge_dagster.confluent.connectors.transforms.settings import TransformSettings, test_of
from lineage_bridge_dagster.text import words

#: Simple names of transforms that route, filter, rename, move or drop, and change no value of a field.
_VALUES_STAY = words(
    """ByLogicalTableRouter ChangeCase ChangeTopicCase CollectionNameTransformation ContentBasedRouter Drop
    DropHeaders ExtractField ExtractNestedField ExtractNewRecordState ExtractTopic
    FieldNameTransformation Filter FilterByFieldValue Flatten HeaderFrom HoistField InsertField
    InsertHeader KeyToValue LowerCaseTopic MessageTimestampRouter RegexRouter ReplaceField
    SetSchemaMetadata TimestampRouter TombstoneHandler TopicRegexRouter ValueToKey"""
)
_TOMBSTONES = "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"


def transformed(record: ConnectRecord, config: Config, topic: str, topics: ExistingTopics) -> ConnectRecord:
    """A record after all transforms of a connector.

    What a transform of an unknown class makes of a record is not known, nor is whatever follows it.

    Args:
        record: Before the transforms.
        config: The connector's configuration.
        topic: The record's topic before the transforms; empty if it is not known.
        topics: Those of the cluster.
    """
    labels = [*dict.fromkeys(config.items("transforms"))]
    for position, label in enumerate(labels):
        name, settings = settings_of(config, label)
        applies = _applies(config, labels, position, topic, topics)
        if applies is False:
            continue
        changed = _changed(record, name, settings)
        record = changed if applies else _either(record, changed, label, config)
    return record


def keeps_values(config: Config) -> bool:
    """Whether all transforms of a connector leave the values of fields as they are, but for their names."""
    types = (config.get(f"transforms.{label}.type") for label in config.items("transforms"))
    return all(name.partition("$")[0].rpartition(".")[2] in _VALUES_STAY for name in types)


def _changed(record: ConnectRecord, name: str, settings: FieldSettings) -> ConnectRecord:
    change = CHANGES.get(name)
    if change is None and (name in KEEP_FIELDS or name in ROUTERS):
        return record
    if change is not None:
        try:
            return change(record, settings)
        except UnknownChangeError as error:
            return _not_known(record, settings, f"{settings.prefix}type {name}: {error}")
    reason = f"it is behind the transform {name or '(none)'}, "
    reason += "whose effect on fields is not modeled" if name in NEUTRAL else "which is not known"
    return _not_known(record, settings, reason)


def _not_known(record: ConnectRecord, settings: FieldSettings, reason: str) -> ConnectRecord:
    """The record without what a transform may have changed: what its class names, else everything."""

    def lost(node: RecordNode | None) -> RecordNode | None:
        return None if node is None else replace(node.not_known(reason), open=True)

    if settings.side == "Key":
        return replace(record, key=lost(record.key))
    if settings.side == "Value":
        return replace(record, value=lost(record.value))
    headers = {name: node.not_known(reason) for name, node in record.headers.items()}
    return ConnectRecord(lost(record.key), lost(record.value), headers)


def _applies(
    config: Config, labels: list[str], position: int, topic: str, topics: ExistingTopics
) -> bool | None:
    """Whether a transform works on the records with columns; None if on some of them."""
    label = labels[position]
    predicate = config.get(f"transforms.{label}.predicate")
    if not predicate:
        return True
    if config.get(f"predicates.{predicate}.type") == _TOMBSTONES:
        # A tombstone has no columns, so that all others decide.
        return config.flag(f"transforms.{label}.negate")
    test = test_of(TransformSettings(config, f"transforms.{label}.", topics, []))
    if test is None:
        return True
    seen = _name_before(config, labels[:position], topic, topics)
    return test(seen) if seen is not None else None


def _name_before(config: Config, labels: list[str], topic: str, topics: ExistingTopics) -> TopicName | None:
    """The name of the record's topic after some transforms; None if that is not one name."""
    if not topic:
        return None
    if not labels:
        return TopicName((topic,))
    names = routing_of(config.with_values(transforms=",".join(labels)), topics).names(topic)
    return names[0] if len(names) == 1 else None


def _either(one: ConnectRecord, other: ConnectRecord, label: str, config: Config) -> ConnectRecord:
    predicate = config.get(f"transforms.{label}.predicate")
    kind = config.get(f"predicates.{predicate}.type").rpartition(".")[2] or "an unknown class"
    reason = f"the transform {label} works only on records that the predicate {predicate} ({kind}) selects"
    headers = {**one.headers, **other.headers}
    return ConnectRecord(either(one.key, other.key, reason), either(one.value, other.value, reason), headers)
