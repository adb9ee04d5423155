"""The YAML of a component that loads topics into Iceberg tables: its connection, its topics, its runs.

Keys and secrets have no field: those of the brokers and of the Schema Registry come from
`LINEAGE_BRIDGE_KAFKA_API_KEY` and `LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY` (with `_{CLUSTER}` or
`_{ENVIRONMENT}` for one of several), or from AWS Secrets Manager.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from lineage_bridge_dagster.config.value_types import Day, Url, pattern_type, text_type
from lineage_bridge_dagster.config.yaml_fields import CRON
from lineage_bridge_dagster.config.yaml_schema import Accepts
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.errors import ConfigurationError

Mode = Literal["append", "upsert", "debezium"]
Failures = Literal["suspend", "skip", "log"]
Accepted = Literal["lost_records", "recreated_topic"]
Truncations = Literal["suspend", "apply"]
TypeChanges = Literal["suspend", "new_column"]
SliceLength = Literal["day", "hour"]
Running = Literal["schedule", "continuous", "manual"]

#: The topic that dead letters go to if none is named, as Tableflow's do.
DEAD_LETTER_TOPIC = "error_log"

_COLUMN = r"[^\s(),`'\"]+"
_TRANSFORM = re.compile(
    rf"(?:(?:years?|months?|days?|hours?)\(\s*{_COLUMN}\s*\)"
    rf"|(?:bucket|truncate)\(\s*[1-9]\d*\s*,\s*{_COLUMN}\s*\)|{_COLUMN})"
)
_ORDER = re.compile(rf"{_TRANSFORM.pattern}(?:\s+(?:asc|desc))?(?:\s+nulls\s+(?:first|last))?", re.IGNORECASE)

_TOPIC = pattern_type(
    r"[A-Za-z0-9._*?-]{1,249}",
    "the name of a topic, or a pattern of names in which * stands for any text and ? for one character",
)
_DEAD_LETTER_TOPIC = pattern_type(r"[A-Za-z0-9._-]{1,249}", "the name of a topic")
_NAME = pattern_type(r"[^\s/`'\"]{1,255}", "a name without spaces, slashes and quotes")
_PLACEHOLDER = pattern_type(
    r"hex:([0-9A-Fa-f]{2})+|(?!hex:)[\s\S]+", "text, or hex: and pairs of hexadecimal digits"
)
_MESSAGE = pattern_type(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", "the full name of a Protobuf message")
_POSITIVE = Annotated[int, Field(ge=1)]


def _is_start(text: str) -> bool:
    return text in ("earliest", "latest") or start_time(text) is not None


def start_time(text: str) -> datetime | None:
    """The time of a `start` that is one; None for `earliest` and `latest`."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


_START = text_type(
    _is_start,
    r"^(earliest|latest|\d{4}-\d\d-\d\dT.*)$",
    "earliest, latest or a time with its zone",
)


class KafkaConfig(YamlSection):
    """The Kafka cluster, in Confluent Cloud by its name or id, or self-managed by its addresses."""

    environment: str = Field(
        default="",
        description="Id or name of the cluster's environment in Confluent Cloud; empty: the only one with "
        "such a cluster.",
        examples=["env-abc123"],
    )
    cluster: str = Field(
        default="",
        description="Id or name of the cluster in Confluent Cloud. With bootstrap_servers, the name that "
        "assets, lineage and variables with keys have for a self-managed cluster.",
        examples=["lkc-abc123"],
    )
    bootstrap_servers: str = Field(
        default="",
        description="Addresses of a self-managed cluster's brokers, as [PROTOCOL://]host:port, separated by "
        "commas; PROTOCOL is SASL_SSL (the default elsewhere than on this machine), SSL or PLAINTEXT.",
        examples=["SASL_SSL://broker.example.com:9092"],
    )
    schema_registry_url: Annotated[str, Accepts(Url)] = Field(
        default="",
        description="Base URL of a self-managed cluster's Schema Registry; empty: records stay bytes.",
        examples=["https://registry.example.com"],
    )

    @property
    def is_self_managed(self) -> bool:
        return bool(self.bootstrap_servers)

    def contradictions(self) -> Iterator[tuple[tuple[str | int, ...], ConfigurationError]]:
        if not self.cluster:
            yield (
                (),
                ConfigurationError(
                    "No Kafka cluster is named",
                    hint="Write cluster, for example cluster: lkc-abc123; for a self-managed cluster, a name "
                    "of your own besides bootstrap_servers.",
                ),
            )
        if self.schema_registry_url and not self.is_self_managed:
            yield (
                ("schema_registry_url",),
                ConfigurationError(
                    "The Schema Registry of a cluster in Confluent Cloud is that of its environment",
                    hint="Remove schema_registry_url, or write bootstrap_servers for a self-managed cluster.",
                ),
            )


class BackfillConfig(YamlSection):
    """The partitions by which a table can be loaded again from its topic; none without a start."""

    partition: Annotated[str | None, Accepts(SliceLength)] = Field(
        default=None,
        description="Length of a partition, in UTC: day or hour. Default: day.",
        examples=["hour"],
    )
    start: Annotated[str | None, Accepts(Day)] = Field(
        default=None,
        description="First day that can be loaded again, in UTC; the oldest one that the topic still has, "
        "say.",
        examples=["2026-01-01"],
    )
    late_minutes: Annotated[float | str | None, Accepts(Annotated[float, Field(ge=0)])] = Field(
        default=None,
        description="How many minutes late a record comes at most, by its own time: a partition is then read "
        "to the first record that is so much newer than its end. 0 for topics with LogAppendTime. By default "
        "it is not known, and all that comes after a partition's start is read.",
        examples=[60],
    )
    partitions_per_run: Annotated[int | str | None, Accepts(_POSITIVE)] = Field(
        default=None,
        description="The most partitions of a backfill in one run. Default: all of them, which reads the "
        "topic once.",
        examples=[7],
    )


class LoadFields(YamlSection):
    """How topics are loaded. A field that a topic leaves out is that of `defaults`."""

    mode: Annotated[str | None, Accepts(Mode)] = Field(
        default=None,
        description="append: a row for each record; upsert: a row for each key, whose last record it holds, "
        "and a record without a value deletes it; debezium: upsert from the envelopes of Debezium. "
        "Default: append. The mode of a table that exists can't be changed.",
        examples=["upsert"],
    )
    failures: Annotated[str | None, Accepts(Failures)] = Field(
        default=None,
        description="What a record that can't become a row does: suspend (its table stops), skip (it is "
        "left out) or log (it goes to dead_letter_topic). Default: suspend.",
        examples=["log"],
    )
    dead_letter_topic: Annotated[str | None, Accepts(_DEAD_LETTER_TOPIC)] = Field(
        default=None,
        description=f"The topic that failures: log writes to. Default: {DEAD_LETTER_TOPIC}.",
        examples=["orders.dead_letters"],
    )
    catalog: str | None = Field(
        default=None,
        description="Name of the catalog of the tables, that of spark.catalog or one of catalogs. Default: "
        "that of spark.catalog.",
        examples=["lake"],
    )
    database: Annotated[str | None, Accepts(_NAME)] = Field(
        default=None,
        description="Database (namespace) of the tables. Default: the cluster's id, as Tableflow has it.",
        examples=["sales"],
    )
    partition_by: list[str] | None = Field(
        default=None,
        description="Partition transforms of a new table: a column, or years, months, days, hours, bucket "
        "or truncate of one.",
        examples=['["days(ordered_at)", "bucket(16, id)"]'],
    )
    sort_by: list[str] | None = Field(
        default=None,
        description="Sort order of a new table's files: columns or transforms, with asc or desc.",
        examples=['["ordered_at desc"]'],
    )
    properties: dict[str, str] | None = Field(
        default=None,
        description="Further Iceberg properties of a new table.",
        examples=["{write.target-file-size-bytes: '268435456'}"],
    )
    metadata_names: Annotated[str | None, Accepts(Literal["tableflow", "portable"])] = Field(
        default=None,
        description="Names of the metadata columns: tableflow ($$offset) or portable "
        "(cflt_metadata_offset, for engines that refuse the dollar sign). Default: tableflow.",
        examples=["portable"],
    )
    raw_columns: bool | None = Field(
        default=None,
        description="Whether rows have the bytes of their record's key and value too ($$raw-key and "
        "$$raw-value), as Tableflow's do. Without them, loading is faster and the files are smaller; a table "
        "that has the columns keeps them, null in new rows. Default: true.",
        examples=[False],
    )
    batch_records: Annotated[int | str | None, Accepts(_POSITIVE)] = Field(
        default=None,
        description="The most records of a topic in one commit. Default: 1000000.",
        examples=[1_000_000],
    )
    batch_bytes: Annotated[int | str | None, Accepts(_POSITIVE)] = Field(
        default=None,
        description="About the most bytes of keys and values in one commit, by the size of the records "
        "before. Default: 1073741824 (1 GiB).",
        examples=[1_073_741_824],
    )
    start: Annotated[str | None, Accepts(_START)] = Field(
        default=None,
        description="Where a new table begins: earliest, latest, or the first record at or after a time. "
        "Default: earliest.",
        examples=["2026-01-01T00:00:00Z"],
    )
    accept: Annotated[list[str] | str | None, Accepts(list[Accepted])] = Field(
        default=None,
        description="What a table goes on after instead of stopping: lost_records (retention removed records "
        "that were not read) and recreated_topic (the topic was deleted and created again).",
        examples=["[lost_records]"],
    )
    type_changes: Annotated[str | None, Accepts(TypeChanges)] = Field(
        default=None,
        description="What happens when a field gets a type that its column can't be changed to, such as "
        "double instead of int: suspend (the table stops) or new_column (new values go to a column named "
        "after the field and its new type, such as total_double, next to the old one). Default: suspend.",
        examples=["new_column"],
    )
    unavailable_value: Annotated[str | None, Accepts(_PLACEHOLDER)] = Field(
        default=None,
        description="Debezium's unavailable.value.placeholder, which stands for a value that did not change "
        "and was not sent: text, or hex: and hexadecimal digits. A table by key keeps its value; other "
        "tables get null. Default: __debezium_unavailable_value, only in values that have Debezium's fields "
        "or its name of the schema; a placeholder that is set here applies to all values.",
        examples=["hex:00ff"],
    )
    truncations: Annotated[str | None, Accepts(Truncations)] = Field(
        default=None,
        description="What Debezium's truncate event does to a table of mode debezium: suspend (it is handled "
        "by failures, like a record that can't become a row) or apply (all rows are deleted; the topic must "
        "have one partition, because events of several have no order). Default: suspend.",
        examples=["apply"],
    )
    backfill: BackfillConfig = Field(
        default_factory=BackfillConfig,
        description="Has an asset of its own load days or hours of a table in mode append again, by the time "
        "of the topic's records.",
    )
    max_lag_seconds: Annotated[float | str | None, Accepts(Annotated[float, Field(gt=0)])] = Field(
        default=None,
        description="Age in seconds of the oldest record that is not in its table above which the check "
        "caught_up fails. Default: 3600.",
        examples=[900],
    )
    max_lag_records: Annotated[int | str | None, Accepts(_POSITIVE)] = Field(
        default=None,
        description="Records not in their table above which the check caught_up fails; by default their "
        "number doesn't matter.",
        examples=[100_000],
    )

    def contradictions(self) -> Iterator[tuple[tuple[str | int, ...], ConfigurationError]]:
        for field, pattern, example in (
            ("partition_by", _TRANSFORM, "days(ordered_at) or bucket(16, id)"),
            ("sort_by", _ORDER, "ordered_at desc"),
        ):
            for index, text in enumerate(getattr(self, field) or ()):
                if not pattern.fullmatch(text.strip()):
                    yield (
                        (field, index),
                        ConfigurationError(
                            f"{text!r} is neither a column nor a transform of one",
                            hint=f"Write, for example, {example}.",
                        ),
                    )
        if self.dead_letter_topic and self.failures in ("suspend", "skip"):
            yield (
                ("dead_letter_topic",),
                ConfigurationError(
                    f"Nothing is written to it with failures: {self.failures}",
                    hint="Write failures: log, or remove dead_letter_topic.",
                ),
            )


class DefaultsConfig(LoadFields):
    """How topics are loaded whose entries leave it out."""


class TopicConfig(LoadFields):
    """A topic, or a pattern of topics, and how it is loaded."""

    topic: Annotated[str, Accepts(_TOPIC)] = Field(
        default="",
        description="Name of the topic, or a pattern such as sales.*. An entry with a topic's own name "
        "wins; otherwise the first one whose pattern fits.",
        examples=["orders.v1"],
    )
    table: Annotated[str | None, Accepts(_NAME)] = Field(
        default=None,
        description="Name of the table. Default: the topic's, in lower case in Glue.",
        examples=["orders"],
    )
    location: str | None = Field(
        default=None,
        description="Location of a new table. Default: what the catalog chooses below its warehouse.",
        examples=["s3://bucket/sales/orders"],
    )

    protobuf_message: Annotated[str | None, Accepts(_MESSAGE)] = Field(
        default=None,
        description="Full name of the Protobuf message that the topic's values are, if it is not the first "
        "of its schema.",
        examples=["shop.v1.Order"],
    )

    @property
    def is_pattern(self) -> bool:
        return bool(set(self.topic) & set("*?"))

    def contradictions(self) -> Iterator[tuple[tuple[str | int, ...], ConfigurationError]]:
        yield from super().contradictions()
        if not self.topic:
            yield (
                (),
                ConfigurationError(
                    "The entry names no topic", hint="Write topic, for example topic: orders.v1."
                ),
            )
        for field in ("table", "location"):
            if self.is_pattern and getattr(self, field):
                yield (
                    (field,),
                    ConfigurationError(
                        f"All topics of the pattern {self.topic} would share one {field}",
                        hint=f"Remove {field}, or give the topic an entry of its own.",
                    ),
                )


class RunConfig(YamlSection):
    """When topics are loaded, and how many at once."""

    mode: Annotated[str, Accepts(Running)] = Field(
        default="schedule",
        description="schedule: a run reads to the ends that the topics have when it starts; continuous: one "
        "long run, which a sensor starts again when it ended or died; manual: only when somebody "
        "materializes the assets.",
        examples=["continuous"],
    )
    cron: Annotated[str, CRON] = Field(
        default="*/15 * * * *",
        description="Schedule of the runs of mode schedule, as a cron expression.",
        examples=["*/15 * * * *"],
    )
    running: bool = Field(
        default=False,
        description="Start the schedule or the sensor without a click in the UI.",
        examples=[True],
    )
    threads: Annotated[int, Accepts(Annotated[int, Field(ge=1, le=64)])] = Field(
        default=4, description="Topics that are loaded at the same time.", examples=[4]
    )
    commit_seconds: Annotated[float, Accepts(Annotated[float, Field(gt=0)])] = Field(
        default=60.0,
        description="Seconds between two commits to a table that has caught up, in mode continuous.",
        examples=[60],
    )
    report_minutes: Annotated[float, Accepts(Annotated[float, Field(gt=0)])] = Field(
        default=10.0,
        description="Minutes between two materializations of a table in a run of mode continuous.",
        examples=[10],
    )
    restart_hours: Annotated[float, Accepts(Annotated[float, Field(gt=0)])] = Field(
        default=24.0,
        description="Hours after which a run of mode continuous ends, and the sensor starts the next one.",
        examples=[24],
    )


class UpkeepConfig(YamlSection):
    """What keeps the tables small: compaction, and the end of old snapshots and of files without one."""

    cron: Annotated[str, CRON] = Field(
        default="30 2 * * *",
        description="Schedule of the upkeep of all tables, as a cron expression; empty: none.",
        examples=["30 2 * * *"],
    )
    running: bool = Field(
        default=False, description="Start the schedule without a click in the UI.", examples=[True]
    )
    keep_snapshots: Annotated[int, Accepts(_POSITIVE)] = Field(
        default=100, description="Snapshots to keep of each table, as Tableflow does.", examples=[100]
    )
    keep_hours: Annotated[float, Accepts(Annotated[float, Field(ge=0)])] = Field(
        default=0.0,
        description="Hours for which every snapshot is kept, however many there are.",
        examples=[24],
    )
    orphan_days: Annotated[float, Accepts(Annotated[float, Field(ge=0)])] = Field(
        default=3.0,
        description="Days after which a file that no snapshot has is removed, at least 1; 0: never.",
        examples=[3],
    )
