"""Change events and documents of MongoDB's own source connector.

Sources: "Kafka Source Connector Configuration Properties" and "Change Stream Properties" of MongoDB's
documentation; the pipeline's stages change the event before it is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    MADE_UP,
    ConnectRecord,
    RecordNode,
    leaf,
    merged,
    struct,
    unknown,
)
from lineage_bridge_dagster.confluent.connectors.columns.sources.topic import (
    DECLARED,
    METADATA,
    SourceTopic,
    reads,
)
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.schemas.schemas import AVRO, RegisteredSchema

#: A reference to a field in an expression; `$$` begins a variable, and `$` may also begin an operator.
_REFERENCE = re.compile(r"\$(?!\$)([\w.-]+)")


@reads("mongodb")
def mongodb(topic: SourceTopic) -> ConnectRecord:
    """The change event, or the document alone if that is published.

    The key is the document's, as text, or a resume token; or what a schema of its own takes from the event.
    """
    config = topic.config
    document = topic.row()
    ids = struct({"_id": leaf(*(f"{dataset}._id" for dataset in topic.datasets))})
    update = struct({"updatedFields": document, "removedFields": MADE_UP, "truncatedArrays": MADE_UP})
    names = struct({"db": MADE_UP, "coll": MADE_UP})
    event = struct(
        {
            "_id": METADATA,
            "operationType": MADE_UP,
            "fullDocument": document,
            "fullDocumentBeforeChange": document,
            "ns": names,
            "to": names,
            "documentKey": ids,
            "updateDescription": update,
            "clusterTime": MADE_UP,
            "wallTime": MADE_UP,
            "txnNumber": MADE_UP,
            "lsid": METADATA,
        }
    )
    event = _piped(event, config)
    managed = "." not in config.get("connector.class")
    if config.get("output.format.key").lower() == "schema":
        key = event if config.get("output.schema.key") else struct({"_id": METADATA})
    else:
        of_document = config.flag("change.stream.document.key.as.key", not managed) or config.flag(
            "publish.full.document.only.tombstone.on.delete"
        )
        key = ids if of_document else METADATA
    alone = config.flag("publish.full.document.only")
    return ConnectRecord(key, event.at("fullDocument") if alone else event)


def declared(config: Config) -> RegisteredSchema | None:
    """The schema of the value that the configuration holds."""
    text = config.get("output.schema.value")
    return RegisteredSchema(0, text, AVRO) if text and not config.flag("output.schema.infer.value") else None


DECLARED["mongodb"] = declared


def _piped(event: RecordNode, config: Config) -> RecordNode:
    """The event after the stages of the pipeline."""
    text = config.get("pipeline")
    if not text:
        return event
    try:
        stages = json.loads(text)
        for stage in stages:
            for operator, argument in stage.items():
                event = _staged(event, operator, argument)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        return unknown(f"its pipeline is not understood: {error}")
    return event


def _staged(event: RecordNode, operator: str, argument: Any) -> RecordNode:
    match operator:
        case "$match" | "$redact" | "$changeStreamSplitLargeEvent":
            return event
        case "$unset":
            for name in [argument] if isinstance(argument, str) else argument:
                event = event.with_field(name.split("."), None)
            return event
        case "$addFields" | "$set":
            fields = {name: _computed(event, value) for name, value in argument.items()}
            for name, node in fields.items():
                event = event.with_field(name.split("."), node)
            return event
        case "$project":
            return _projected(event, argument)
        case "$replaceRoot" | "$replaceWith":
            root = argument["newRoot"] if operator == "$replaceRoot" else argument
            return _computed(event, root)
    return unknown(f"the stage {operator} of its pipeline is not modeled")


def _projected(event: RecordNode, fields: Mapping[str, Any]) -> RecordNode:
    flat = dict(_flat(fields))
    removed = [name for name, value in flat.items() if value in (0, False)]
    if len(removed) == len(flat):
        for name in removed:
            event = event.with_field(name.split("."), None)
        return event
    kept = struct({})
    if "_id" not in removed and (token := event.at("_id")) is not None:
        kept = kept.with_field(("_id",), token)
    for name, value in flat.items():
        if name in removed:
            continue
        path = name.split(".")
        node = event.at(*path) if value in (1, True) else _computed(event, value)
        if node is not None:
            kept = kept.with_field(path, node)
    return kept


def _flat(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested fields with dotted names; an expression is not a nested field."""
    for name, value in fields.items():
        if isinstance(value, Mapping) and not any(key.startswith("$") for key in value):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _computed(event: RecordNode, expression: Any) -> RecordNode:
    """What an expression is made of: the field that it is, or all that it names."""
    if isinstance(expression, str):
        match = _REFERENCE.fullmatch(expression)
        found = event.at(*match[1].split(".")) if match else None
        return found if found is not None else MADE_UP
    if isinstance(expression, Mapping):
        if not any(key.startswith("$") for key in expression):
            return struct({name: _computed(event, value) for name, value in expression.items()})
        if "$literal" in expression:
            return MADE_UP
        if "$mergeObjects" in expression:
            parts = [_computed(event, each) for each in _listed(expression["$mergeObjects"])]
            whole = RecordNode(fields={})
            for part in parts:
                whole = replace(
                    whole,
                    fields={**whole.known, **part.known},
                    sources=whole.sources | part.sources,
                    open=whole.open or part.open,
                )
            return whole
        return merged(_computed(event, value) for value in expression.values())
    if isinstance(expression, list):
        return merged(_computed(event, each) for each in expression)
    return MADE_UP


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
