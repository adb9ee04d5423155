"""Documents of MongoDB: the connectors of MongoDB, Debezium and the community.

Sources: the packages `processor`, `processor.id.strategy`, `cdc` and `writemodel.strategy` of
mongodb/mongo-kafka, whose keys hpgrahsl/kafka-connect-mongodb has with a prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord, RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks import mongodb_processors as processors
from lineage_bridge_dagster.confluent.connectors.columns.sinks.mongodb_processors import Document
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    NO_SCHEMA,
    SinkDataset,
    WrittenColumn,
    column,
    generated,
    tree,
    unknown,
    unnamed,
    writes,
)
from lineage_bridge_dagster.confluent.connectors.config import Config

_ID = "_id"
_GENERATED_IDS = ("", "BsonOidStrategy", "ObjectIdStrategy", "UuidStrategy", "KafkaMetaDataStrategy")
_TIMESTAMPED = ("UpdateOneTimestampsStrategy", "UpdateOneBusinessKeyTimestampStrategy")
#: Strategies that find the document by other fields, so that the store gives a new one its identifier.
_BY_BUSINESS_KEY = ("ReplaceOneBusinessKeyStrategy", "UpdateOneBusinessKeyTimestampStrategy")


@dataclass(frozen=True, slots=True)
class MongoSettings:
    """The configuration for one topic, whose overrides come first."""

    config: Config
    topic: str
    prefix: str = ""
    collection: str = ""

    def get(self, *names: str) -> str:
        """The first value set among these keys, given without the prefix."""
        return self.config.get(
            *(f"topic.override.{self.topic}.{name}" for name in names),
            *(f"{self.prefix}{name}.{self.collection}" for name in names if self.collection),
            *(self.prefix + name for name in names),
        )

    def simple(self, *names: str) -> str:
        """The name of a class, without its package."""
        return self.get(*names).rpartition(".")[2]


@writes("mongodb firestore")
def mongodb(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The document that the handler of changes, or else the chain of post processors makes."""
    settings = MongoSettings(table.config, table.topic)
    handler = settings.simple("change.data.capture.handler", "cdc.handler")
    if handler not in ("", "None"):
        return _changes(handler, table.record)
    return _documents(settings, table.record)


@writes("mongodb-community")
def community(table: SinkDataset) -> Iterator[WrittenColumn]:
    collection = table.dataset.rpartition(".")[2]
    settings = MongoSettings(table.config, table.topic, "mongodb.", collection)
    handler = settings.simple("change.data.capture.handler")
    return _changes(handler, table.record) if handler else _documents(settings, table.record)


@writes("mongodb-debezium")
def debezium(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The row of a change, as the handlers of MongoDB's own sink write it."""
    return _changes("MongoDbSinkConnector", table.record)


def _documents(settings: MongoSettings, record: ConnectRecord) -> Iterator[WrittenColumn]:
    value = record.value
    if value is None:
        return
    key = record.key
    # Only documents have parts that post processors could change.
    document = Document(
        {} if key is None else dict(key.known),
        dict(value.known),
    )
    chain = [name.rpartition(".")[2] for name in settings.get("post.processor.chain").split(",")]
    chain = [name.strip() for name in chain if name.strip()]
    if "DocumentIdAdder" not in chain:
        chain.insert(0, "DocumentIdAdder")
    for step in chain:
        if step == "DocumentIdAdder":
            _add_id(settings, document, record)
        elif not processors.apply(step, settings.get, document):
            yield from unknown(f"the post processor {step} is not known")
            return
    strategy = settings.simple("writemodel.strategy", "write.strategy")
    identifier = document.value.pop(_ID, None)
    if strategy in _BY_BUSINESS_KEY:
        identifier = None
    yield from generated(_ID) if identifier is None else tree(identifier, _ID)
    yield from tree(RecordNode(fields=document.value))
    yield from unnamed(value)
    if strategy in _TIMESTAMPED:
        yield from generated("_insertedTS", "_modifiedTS")


def _add_id(settings: MongoSettings, document: Document, record: ConnectRecord) -> None:
    """Set `_id` by `document.id.strategy`; one that the value has stays, unless it is to be overwritten."""
    overwrite = settings.get("document.id.strategy.overwrite.existing", "doc.id.strategy.overwrite.existing")
    if _ID in document.value and overwrite.lower() != "true":
        return
    strategy = settings.simple("document.id.strategy", "doc.id.strategy")
    document.value[_ID] = _identifier(strategy, settings, document, record)


def _identifier(
    strategy: str, settings: MongoSettings, document: Document, record: ConnectRecord
) -> RecordNode:
    key, value = record.key, record.value
    if strategy in _GENERATED_IDS:
        return RecordNode()
    if strategy == "FullKeyStrategy":
        return RecordNode(fields=document.key) if document.key else (key or RecordNode())
    side, part = ("Key", key) if "Key" in strategy else ("Value", value)
    if strategy.startswith(("Provided", "UuidProvided")):
        found = part.at(_ID) if part is not None else None
        return found or RecordNode(unknown=f"{strategy}: the record's {side.lower()} has no field {_ID}")
    if strategy in ("PartialKeyStrategy", "PartialValueStrategy"):
        own = f"document.id.strategy.partial.{side.lower()}.projection."
        shared = f"{side.lower()}.projection."
        kind = settings.get(own + "type", shared + "type")
        fields = document.key if side == "Key" else document.value
        if part is not None and (part.open or not part.is_struct):
            return RecordNode(unknown=part.unknown or NO_SCHEMA)
        return RecordNode(
            fields=processors.projected(kind, settings.get(own + "list", shared + "list"), fields)
        )
    return RecordNode(unknown=f"the strategy of its identifier, {strategy}, is not known")


def _changes(handler: str, record: ConnectRecord) -> Iterator[WrittenColumn]:
    """The document by a handler of change events, which replaces the post processors."""
    value = record.value
    if value is None:
        return
    if handler in ("ChangeStreamHandler", "MongoDbChangeStreamHandler"):
        row = value.at("fullDocument")
    elif handler in ("QlikRdbmsHandler", "RdbmsHandler") and value.at("message", "data") is not None:
        row = value.at("message", "data")
    elif handler in ("MongoDbHandler", "DebeziumMongoDbHandler"):
        yield from unknown("the row of an event is a JSON text, whose fields no schema names")
        return
    elif handler in (
        "MongoDbSinkConnector",
        "RdbmsHandler",
        "MysqlHandler",
        "PostgresHandler",
        "DebeziumMySqlHandler",
        "DebeziumPostgresHandler",
        "QlikRdbmsHandler",
    ):
        row = value.at("after")
    else:
        yield from unknown(f"the handler of changes, {handler}, is not known")
        return
    if row is None or row.open or not row.is_struct:
        yield from unknown(f"{handler}: the record has no schema that names the row's fields")
        return
    if handler in ("ChangeStreamHandler", "MongoDbChangeStreamHandler"):
        yield from tree(row)
        return
    yield from _row(record.key, row.known)


def _row(key: RecordNode | None, fields: Mapping[str, RecordNode]) -> Iterator[WrittenColumn]:
    """The key's fields within `_id`, and the row's other fields."""
    names: Iterable[str] = ()
    if key is None:
        yield from generated(_ID)
    elif not key.is_struct:
        yield column(_ID, key)
    else:
        names = key.known
        yield from tree(key, _ID)
    yield from tree(RecordNode(fields={name: node for name, node in fields.items() if name not in names}))
