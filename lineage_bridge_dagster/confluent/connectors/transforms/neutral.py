"""Public transforms that leave the topic alone: they change, mark or drop records.

By package, with the names of the classes, as read in their sources or documentation. A class of these
packages that is not listed is unknown: packages grow, and routers are in most of them.
"""

from __future__ import annotations

from collections.abc import Mapping

#: They filter, mark or change values, or drop whole records, and leave the names of fields.
_FIELDS_STAY: Mapping[str, str] = {
    "org.apache.kafka.connect.transforms": "SetSchemaMetadata",
    "io.confluent.connect.transforms": "Filter GzipDecompress TombstoneHandler",
    "io.confluent.transforms": "NullFilter",
    "io.debezium.transforms": (
        "EnforceRecordSize ExtractChangedRecordState Filter GeometryFormatTransformer "
        "SchemaChangeEventFilter SwapGeometryCoordinates TimezoneConverter VectorToJsonConverter"
    ),
    "io.debezium.transforms.openlineage": "OpenLineage",
    "io.debezium.transforms.partitions": "ComputePartition PartitionRouting",
    "io.debezium.transforms.tracing": "ActivateTracingSpan",
    "io.debezium.connector.mysql.transforms": "ReadToInsertEvent",
    "io.debezium.connector.postgresql.transforms.yugabytedb": "PGCompatible",
    "io.debezium.connector.vitess.transforms": (
        "FilterTransactionTopicRecords ReplaceFieldValue UseLocalVgtid"
    ),
    "io.debezium.connector.yugabytedb.transforms": "PGCompatible",
    "io.aiven.kafka.connect.transforms": (
        "CaseTransform ExtractTimestamp FilterByFieldValue Hash TombstoneHandler"
    ),
    "com.github.jcustenborder.kafka.connect.transform.common": (
        "AdjustPrecisionAndScale BytesToString Debug ExtractTimestamp NormalizeSchema PatternFilter "
        "SetMaximumPrecision TimestampNow ToLong"
    ),
    "io.lenses.connect.smt.header": (
        "InsertFieldTimestampHeaders InsertRecordTimestampHeaders InsertRollingFieldTimestampHeaders "
        "InsertRollingRecordTimestampHeaders InsertRollingWallclock InsertRollingWallclockHeaders "
        "InsertSourcePartitionOrOffsetValue InsertWallclock InsertWallclockDateTimePart "
        "InsertWallclockHeaders TimestampConverter"
    ),
    "com.couchbase.connect.kafka.transform": "DropIfNullValue",
    "com.github.rerorero.kafka.connect.transform.encrypt": "Transform",
    "io.github.rerorero.kafka.connect.transform.encrypt": "Transform",
    "com.catawiki.kafka.connect.transforms": "FilterNullTombstone",
    "com.github.hpgrahsl.kafka.connect.transforms.kryptonite": "CipherField",
    "com.michelin.kafka.connect.transforms.qlik.replicate": "ReplicateTimestampConverter",
    "com.redhat.insights.kafka.connect.transforms": "DropIf Filter",
    "com.datamountaineer.streamreactor.connect.transforms": "LogicalFieldToString MapKeyToString",
    "com.starrocks.connector.kafka.transforms": (
        "MicroTimestampConverter TimeMillisToStringTransform VariableScaleDecimalToStringTransform"
    ),
    "io.kineticedge.kafka.connect.transforms": "Trim",
}
#: They move, add or rename fields, or parse them: see `columns.transforms` for those that are modeled.
_FIELDS_CHANGE: Mapping[str, str] = {
    "org.apache.kafka.connect.transforms": (
        "Cast DropHeaders ExtractField Flatten HeaderFrom HoistField InsertField InsertHeader MaskField "
        "ReplaceField TimestampConverter ValueToKey"
    ),
    "io.confluent.connect.transforms": "Drop Flatten ReplaceField",
    "io.confluent.cctransforms": "ExtractKey",
    "io.confluent.kafka.connect.transforms": "KeyToValue",
    "io.confluent.connect.cloud.transforms.xml": "FromXml",
    "io.debezium.transforms": "ExtractSchemaToNewRecord HeaderToValue",
    "io.debezium.aggregation.smt": "ExpandJsonSmt",
    "io.debezium.ai.docling": "FieldToDocling",
    "io.debezium.ai.embeddings": "FieldToEmbedding",
    "io.debezium.connector.cassandra.transforms": "EnvelopeTransformation",
    "io.debezium.connector.jdbc.transforms": "ConvertCloudEventToSaveableForm FieldNameTransformation",
    "io.debezium.connector.mongodb.transforms": "ExtractNewDocumentState",
    "io.debezium.connector.postgresql.transforms": "DecodeLogicalDecodingMessageContent",
    "io.debezium.connector.postgresql.transforms.yugabytedb": "YBExtractNewRecordState",
    "io.debezium.connector.vitess.transforms": "RemoveField",
    "io.debezium.connector.yugabytedb.transforms": "YBExtractNewRecordState",
    "io.aiven.kafka.connect.transforms": "ConcatFields KeyToValue MakeTombstone",
    "com.github.jcustenborder.kafka.connect.archive": "Archive",
    "com.github.jcustenborder.kafka.connect.transform.common": (
        "ChangeCase ExtractNestedField ExtractXPath HeaderToField PatternMapString PatternRename SetNull "
        "TimestampNowField ToJSON TopicNameToField"
    ),
    "com.github.jcustenborder.kafka.connect.transform.xml": "FromXml",
    "io.lenses.connect.smt.header": "RenameHeader",
    "org.apache.camel.kafkaconnector.transforms": (
        "CamelTypeConverterTransform ConnectRecordValueToMapTransforms FieldsToHeadersTransform "
        "PojoToSchemaAndStructTransform SchemaAndStructToJsonTransform SinkPojoToSchemaAndStructTransform "
        "SourcePojoToSchemaAndStructTransform"
    ),
    "org.apache.camel.kafkaconnector.file.transformers": "FileTransforms",
    "com.adobe.platform.streaming.sink.transformation": "JsonPatchTransform",
    "org.apache.iceberg.connect.transforms": (
        "CopyValue DebeziumTransform DmsTransform JsonToMapTransform KafkaMetadataTransform "
        "MongoDebeziumTransform"
    ),
    "io.tabular.iceberg.connect.transforms": (
        "CopyValue DebeziumTransform DmsTransform JsonToMapTransform KafkaMetadataTransform "
        "MongoDebeziumTransform"
    ),
    "com.clickhouse.kafka.connect.transforms": "KeyToValue",
    "com.couchbase.connect.kafka.transform": "DeserializeJson",
    "com.github.cjmatta.kafka.connect.smt": "InsertUuid",
    "com.github.tuyndv.kafka.connect.smt": "InsertField",
    "com.github.jcustenborder.kafka.connect.cobol": "FromCopybook",
    "com.github.eladleev.kafka.connect.transform.keytofield": "KeyToFieldTransform",
    "io.woolford": "JoltTransform",
    "com.github.jcustenborder.kafka.connect.transform": "HL7",
    "com.github.jcustenborder.kafka.connect.transform.fhir": "FromFHIR",
    "com.github.jcustenborder.kafka.connect.transform.cef": "CEFTransformation",
    "com.github.jcustenborder.kafka.connect.transform.fix": "FromFIX",
    "com.github.jcustenborder.kafka.connect.transform.maxmind": "MaxMindTransformation",
    "com.github.cedelsb.kafka.connect.smt": "Record2JsonStringConverter",
    "com.michelin.kafka.connect.transforms.qlik.replicate": "ExtractNewRecordState",
    "com.redhat.insights.expandjsonsmt": "ExpandJSON",
    "com.redhat.insights.kafka.connect.transforms": "FieldToJson FilterFields InjectSchema",
    "com.datamountaineer.streamreactor.connect.transforms": "NestingFields",
    "com.scylladb.cdc.debezium.connector.transforms": (
        "ScyllaExtractFlattenedNewRecordState ScyllaExtractNewRecordState ScyllaFlattenColumns"
    ),
    "com.starrocks.connector.kafka.transforms": "AddOpFieldForDebeziumRecord",
    "io.streamthoughts.kafka.connect.transform": "Grok",
    "com.cloudera.dim.kafka.connect.transforms": "ConvertFromBytes ConvertToBytes",
}


def _classes(packages: Mapping[str, str]) -> frozenset[str]:
    return frozenset(f"{package}.{name}" for package, names in packages.items() for name in names.split())


KEEP_FIELDS = _classes(_FIELDS_STAY)
NEUTRAL = KEEP_FIELDS | _classes(_FIELDS_CHANGE)
