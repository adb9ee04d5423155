"""Confluent's answers as frozen records, made once at the clients' edge.

Fields follow the official OpenAPI documents (named per class). Unknown fields are passed over, unknown enum
values kept as text, and a null counts as absent: all three occur in real answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import AliasPath, BaseModel, ConfigDict, Field, ValidationError, model_validator

from lineage_bridge_dagster.confluent.api.errors import MalformedAnswer, PartialAnswer


class Record(BaseModel):
    """Base of all records."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        coerce_numbers_to_str=True,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _absent_when_null(cls, value: Any) -> Any:
        return _without_nulls(value)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


R = TypeVar("R", bound=Record)


def read_all(record: type[R], items: Iterable[Any], where: str) -> list[R]:
    """Each item as a record.

    Raises:
        PartialAnswer: some items are not of the record's shape; it carries the others.
        MalformedAnswer: none is.
    """
    good: list[R] = []
    bad: MalformedAnswer | None = None
    for position, item in enumerate(items):
        try:
            good.append(record.model_validate(item))
        except ValidationError as error:
            bad = bad or _malformed(error, f"{where}: item {position}", item)
    if bad is not None:
        if good:
            raise PartialAnswer(good, bad)
        raise bad
    return good


def read_partly(record: type[R], answer: PartialAnswer[Any], where: str) -> PartialAnswer[R]:
    """A partial answer's items as records."""
    try:
        return PartialAnswer(read_all(record, answer.items, where), answer.cause)
    except PartialAnswer as fewer:
        return PartialAnswer(fewer.items, answer.cause)
    except MalformedAnswer:
        return PartialAnswer([], answer.cause)


def _malformed(error: ValidationError, where: str, item: Any) -> MalformedAnswer:
    first = error.errors(include_input=False, include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or f"({type(item).__name__})"
    return MalformedAnswer(
        f"{where}: field `{field}`: {first['msg']}.", hint="Its API may have changed; update, or report it."
    )


class Organization(Record):
    """`org/v2`."""

    id: str
    display_name: str = ""


class Environment(Record):
    """`org/v2`."""

    id: str
    display_name: str = ""

    @property
    def label(self) -> str:
        return self.display_name or self.id


class Endpoint(Record):
    """`cmk.v2.Endpoints`: one access point of a privately networked cluster."""

    http_endpoint: str = ""
    kafka_bootstrap_endpoint: str = ""
    connection_type: str = ""


class ClusterSpec(Record):
    display_name: str = ""
    cloud: str = ""
    region: str = ""
    kind: str = Field("", validation_alias=AliasPath("config", "kind"))
    http_endpoint: str = ""
    kafka_bootstrap_endpoint: str = ""
    endpoints: dict[str, Endpoint] = Field(default_factory=dict)


class KafkaCluster(Record):
    """`cmk/v2`. The two endpoints are deprecated for a map of access points: both are read."""

    id: str
    spec: ClusterSpec = Field(default_factory=ClusterSpec)
    phase: str = Field("", validation_alias=AliasPath("status", "phase"))

    @property
    def label(self) -> str:
        return self.spec.display_name or self.id

    @property
    def http_endpoint(self) -> str:
        return self.spec.http_endpoint or next(
            (point.http_endpoint for _, point in sorted(self.spec.endpoints.items()) if point.http_endpoint),
            "",
        )

    @property
    def bootstrap_endpoint(self) -> str:
        return self.spec.kafka_bootstrap_endpoint or next(
            (
                point.kafka_bootstrap_endpoint
                for _, point in sorted(self.spec.endpoints.items())
                if point.kafka_bootstrap_endpoint
            ),
            "",
        )

    @property
    def is_dedicated(self) -> bool:
        return self.spec.kind.lower() == "dedicated"


class Topic(Record):
    """`kafka/v3` TopicData."""

    topic_name: str
    is_internal: bool = False
    replication_factor: int | None = None
    partitions_count: int | None = None


class TopicConfig(Record):
    """`kafka/v3` TopicConfigData: one setting of one topic."""

    topic_name: str
    name: str
    value: str = ""
    is_default: bool = False
    is_sensitive: bool = False


class Mirror(Record):
    """`kafka/v3` ListMirrorTopicsResponseData: a topic that a cluster link keeps a copy of."""

    link_name: str
    mirror_topic_name: str
    source_topic_name: str
    mirror_status: str = ""


class Link(Record):
    """`kafka/v3` ListLinksResponseData, seen from the cluster asked.

    `source_cluster_id` is there on a destination's link; a bidirectional one has `remote_cluster_id`.
    """

    link_name: str
    source_cluster_id: str = ""
    remote_cluster_id: str = ""
    link_state: str = ""

    @property
    def source(self) -> str:
        return self.source_cluster_id or self.remote_cluster_id


class ConsumerGroup(Record):
    """`kafka/v3` ConsumerGroupData."""

    consumer_group_id: str
    is_simple: bool = False
    state: str = ""
    type: str = ""


class ConsumerLag(Record):
    """`kafka/v3` ConsumerLagData, dedicated clusters only."""

    topic_name: str


class RegistrySpec(Record):
    http_endpoint: str = ""
    private_http_endpoint: str = ""
    cloud: str = ""
    region: str = ""


class Registry(Record):
    """`srcm/v3`: a Schema Registry of an environment."""

    id: str
    spec: RegistrySpec = Field(default_factory=RegistrySpec)

    @property
    def http_endpoint(self) -> str:
        return self.spec.http_endpoint or self.spec.private_http_endpoint


class SchemaReference(Record):
    name: str = ""
    subject: str = ""
    version: int | None = None


class Schema(Record):
    """`schema-registry/v1` Schema: the latest version of one subject. An absent type means Avro."""

    subject: str
    version: int
    id: int
    schema_type: str = Field("AVRO", validation_alias="schemaType")
    text: str = Field("", validation_alias="schema", repr=False)
    references: tuple[SchemaReference, ...] = ()
    #: Where it was read; no field of the API's.
    registry_url: str = Field("", exclude=True)


class ComputePoolSpec(Record):
    display_name: str = ""
    cloud: str = ""
    region: str = ""


class ComputePool(Record):
    """`fcpm/v2`."""

    id: str
    spec: ComputePoolSpec = Field(default_factory=ComputePoolSpec)


class FlinkRegion(Record):
    """`fcpm/v2` Region: where Flink of a cloud and region answers."""

    cloud: str
    region_name: str
    http_endpoint: str = ""
    private_http_endpoint: str = ""


class FlinkSpec(Record):
    statement: str = Field("", repr=False)
    properties: dict[str, str] = Field(default_factory=dict)
    compute_pool_id: str = ""
    principal: str = ""
    stopped: bool = False


class FlinkTraits(Record):
    sql_kind: str = ""
    is_bounded: bool | None = None


class AffectedResource(Record):
    kind: str = ""
    database_id: str = ""
    resource_name: str = ""


class FlinkStatus(Record):
    phase: str = ""
    detail: str = Field("", repr=False)
    traits: FlinkTraits = Field(default_factory=FlinkTraits)
    latest_offsets: dict[str, str] = Field(default_factory=dict)
    affected_resource: AffectedResource = Field(default_factory=AffectedResource)


class FlinkStatement(Record):
    """`sql/v1` Statement."""

    name: str
    spec: FlinkSpec = Field(default_factory=FlinkSpec)
    status: FlinkStatus = Field(default_factory=FlinkStatus)
    created_at: str = Field("", validation_alias=AliasPath("metadata", "created_at"))


class MaterializedTableSpec(Record):
    kafka_cluster_id: str = ""
    query: str = Field("", repr=False)
    compute_pool_id: str = ""
    principal: str = ""
    session_options: dict[str, str] = Field(default_factory=dict)


class MaterializedTable(Record):
    """`sql/v1` MaterializedTable: a topic that Flink keeps up from a query, with no statement of its own."""

    name: str
    spec: MaterializedTableSpec = Field(default_factory=MaterializedTableSpec)
    phase: str = Field("", validation_alias=AliasPath("status", "phase"))
    created_at: str = Field("", validation_alias=AliasPath("metadata", "created_at"))


class ErrorHandling(Record):
    mode: str = ""
    target: str = ""


class TableflowConfig(Record):
    record_failure_strategy: str = ""
    error_handling: ErrorHandling | None = None


class TableflowStorage(Record):
    kind: str = ""
    bucket_name: str = ""
    bucket_region: str = ""
    storage_region: str = ""
    table_path: str = ""


class TableflowSpec(Record):
    display_name: str
    suspended: bool = False
    config: TableflowConfig = Field(default_factory=TableflowConfig)
    storage: TableflowStorage = Field(default_factory=TableflowStorage)
    table_formats: tuple[str, ...] = ()


class CatalogSync(Record):
    catalog_integration_id: str = ""
    catalog_type: str = ""
    sync_status: str = ""
    error_message: str = ""


class FailingFormat(Record):
    format: str = ""
    error_message: str = ""


class TableflowStatus(Record):
    phase: str = ""
    write_mode: str = ""
    error_message: str = ""
    catalog_sync_statuses: tuple[CatalogSync, ...] = ()
    failing_table_formats: tuple[FailingFormat, ...] = ()


class TableflowTopic(Record):
    """`tableflow/v1` TableflowTopic. It has no id: its display name is its Kafka topic's name."""

    spec: TableflowSpec
    status: TableflowStatus = Field(default_factory=TableflowStatus)

    @property
    def display_name(self) -> str:
        return self.spec.display_name

    @property
    def phase(self) -> str:
        return self.status.phase

    @property
    def formats(self) -> tuple[str, ...]:
        """ICEBERG when none is named: the API's default."""
        return self.spec.table_formats or ("ICEBERG",)


class IntegrationConfig(Record):
    """`tableflow/v1`: AwsGlue, Snowflake or Unity; each names its database its own way."""

    kind: str = ""
    custom_database: str = ""


class IntegrationSpec(Record):
    display_name: str = ""
    suspended: bool = False
    config: IntegrationConfig = Field(default_factory=IntegrationConfig)


class CatalogIntegration(Record):
    """`tableflow/v1` CatalogIntegration."""

    id: str
    spec: IntegrationSpec = Field(default_factory=IntegrationSpec)
    phase: str = Field("", validation_alias=AliasPath("status", "phase"))

    @property
    def kind(self) -> str:
        return self.spec.config.kind

    @property
    def custom_database(self) -> str:
        """The Glue database that it was given; empty means the Kafka cluster's id."""
        return self.spec.config.custom_database

    @property
    def is_glue(self) -> bool:
        return self.kind.lower() == "awsglue"
