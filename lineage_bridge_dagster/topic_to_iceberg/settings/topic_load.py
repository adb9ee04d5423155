"""How a topic is loaded into its table: the one settings class, from which the YAML's entries are derived."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from lineage_bridge_dagster.config.value_types import pattern_type, text_type
from lineage_bridge_dagster.schemas.schemas import Mode
from lineage_bridge_dagster.spark.iceberg_tables import TableName

Failures = Literal["suspend", "skip", "log"]
#: What a table goes on after, once someone has decided that it should.
Accepted = Literal["lost_records", "recreated_topic"]

#: The topic that dead letters go to if none is named, as Tableflow's do.
DEAD_LETTER_TOPIC = "error_log"


def _time_of(start: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(start)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


if TYPE_CHECKING:
    Day = str
    Message = str
    Name = str
    Placeholder = str
    Start = str
    TopicName = str
else:
    from lineage_bridge_dagster.config.value_types import Day

    Message = pattern_type(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", "the full name of a Protobuf message")
    Name = pattern_type(r"[^\s\x00-\x1f\x7f/`'\"]{1,255}", "a name without spaces, slashes and quotes")
    Placeholder = pattern_type(
        r"hex:([0-9A-Fa-f]{2})+|(?!hex:)[\s\S]+", "text, or hex: and pairs of hexadecimal digits"
    )
    Start = text_type(
        lambda text: text in ("earliest", "latest") or _time_of(text) is not None,
        r"^(earliest|latest|\d{4}-\d\d-\d\dT.*)$",
        "earliest, latest or a time with its zone",
    )
    TopicName = pattern_type(r"[A-Za-z0-9._-]{1,249}", "the name of a topic")
_Positive = Annotated[int, Field(ge=1)]


class BackfillSlices(BaseModel):
    """The partitions by which a table can be loaded again from its topic."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    partition: Literal["day", "hour"] = Field(
        default="day",
        description="Length of a partition, in UTC: day or hour. Default: day.",
        examples=["hour"],
    )
    start: Day = Field(
        description="First day that can be loaded again, in UTC; the oldest one that the topic still has, "
        "say.",
        examples=["2026-01-01"],
    )
    late_minutes: Annotated[float, Field(ge=0)] | None = Field(
        default=None,
        description="The most minutes that a record arrives late, by its own time: a partition is then read "
        "up to the first record that is newer than its end by more than that. 0 for topics with "
        "LogAppendTime. By default it is not known, and everything after a partition's start is read.",
        examples=[60],
    )
    partitions_per_run: _Positive | None = Field(
        default=None,
        description="The most partitions of a backfill in one run. Default: all of them, which reads the "
        "topic once.",
        examples=[7],
    )


class TopicLoad(BaseModel):
    """A topic, its table and how records become rows.

    Attributes:
        in_default_glue: whether the catalog is the default one and Glue's, whose tables need no catalog's
            name.
        origin: the topic, as `{environment}/{cluster}/{topic}`; a table with another origin is refused.
        replace_moved: whether a table of this name at another location makes way for a new one, as after
            Tableflow was disabled and enabled again; else it is refused.
        backfill: None if the table cannot be loaded again by partitions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    topic: str
    mode: Mode = Field(
        default="append",
        description="append: a row for each record; upsert: a row for each key, whose last record it holds, "
        "and a record without a value deletes it; debezium: upsert from the envelopes of Debezium. "
        "Default: append. The mode of a table that exists can't be changed.",
        examples=["upsert"],
    )
    failures: Failures = Field(
        default="suspend",
        description="What a record that can't become a row does: suspend (its table stops), skip (it is "
        "left out) or log (it goes to dead_letter_topic). Default: suspend.",
        examples=["log"],
    )
    dead_letter_topic: TopicName = Field(
        default=DEAD_LETTER_TOPIC,
        description=f"The topic that failures: log writes to. Default: {DEAD_LETTER_TOPIC}.",
        examples=["orders.dead_letters"],
    )
    catalog: str = Field(
        description="Name of the catalog of the tables, that of spark.catalog or one of catalogs. Default: "
        "that of spark.catalog.",
        examples=["lake"],
    )
    database: str
    table: Name = Field(
        description="Name of the table. Default: the topic's, in lower case in Glue.",
        examples=["orders"],
    )
    location: str | None = Field(
        default=None,
        description="Location of a new table. Default: what the catalog chooses below its warehouse.",
        examples=["s3://bucket/sales/orders"],
    )
    partition_by: list[str] = Field(
        default=[],
        description="Partition transforms of a new table: a column, or years, months, days, hours, bucket "
        "or truncate of one.",
        examples=['["days(ordered_at)", "bucket(16, id)"]'],
    )
    sort_by: list[str] = Field(
        default=[],
        description="Sort order of a new table's files: columns or transforms, with asc or desc.",
        examples=['["ordered_at desc"]'],
    )
    properties: dict[str, str] = Field(
        default={},
        description="Further Iceberg properties of a new table.",
        examples=["{write.target-file-size-bytes: '268435456'}"],
    )
    metadata_names: Literal["tableflow", "portable"] = Field(
        default="tableflow",
        description="Names of the metadata columns: tableflow ($$offset) or portable "
        "(cflt_metadata_offset, for engines that refuse the dollar sign). Default: tableflow.",
        examples=["portable"],
    )
    raw_columns: bool = Field(
        default=True,
        description="Whether rows have the bytes of their record's key and value too ($$raw-key and "
        "$$raw-value), as Tableflow's do. Without them, loading is faster and the files are smaller; a table "
        "that has the columns keeps them, null in new rows. Default: true.",
        examples=[False],
    )
    batch_records: _Positive = Field(
        default=1_000_000,
        description="The most records of a topic in one commit. Default: 1000000.",
        examples=[1_000_000],
    )
    batch_bytes: _Positive = Field(
        default=1 << 30,
        description="About the most bytes of keys and values in one commit, by the size of the records "
        "before. Default: 1073741824 (1 GiB).",
        examples=[1_073_741_824],
    )
    start: Start = Field(
        default="earliest",
        description="Where a new table begins: earliest, latest, or the first record at or after a time. "
        "Default: earliest.",
        examples=["2026-01-01T00:00:00Z"],
    )
    accept: list[Accepted] = Field(
        default=[],
        description="What a table goes on after instead of stopping: lost_records (retention removed records "
        "that were not read) and recreated_topic (the topic was deleted and created again).",
        examples=["[lost_records]"],
    )
    type_changes: Literal["suspend", "new_column"] = Field(
        default="suspend",
        description="What happens when a field gets a type that its column can't be changed to, such as "
        "double instead of int: suspend (the table stops) or new_column (new values go to a column named "
        "after the field and its new type, such as total_double, next to the old one). Default: suspend.",
        examples=["new_column"],
    )
    unavailable_value: Placeholder = Field(
        default="",
        description="Debezium's unavailable.value.placeholder, which stands for a value that did not change "
        "and was not sent: text, or hex: and hexadecimal digits. A table by key keeps its value; other "
        "tables get null. Default: __debezium_unavailable_value, only in values that have Debezium's fields "
        "or its name of the schema; a placeholder that is set here applies to all values.",
        examples=["hex:00ff"],
    )
    truncations: Literal["suspend", "apply"] = Field(
        default="suspend",
        description="What Debezium's truncate event does to a table of mode debezium: suspend (it is handled "
        "by failures, like a record that can't become a row) or apply (all rows are deleted; the topic must "
        "have one partition, because events of several have no order). Default: suspend.",
        examples=["apply"],
    )
    max_lag_seconds: Annotated[float, Field(gt=0)] = Field(
        default=3600.0,
        description="Age in seconds of the oldest record that is not in its table above which the check "
        "caught_up fails. Default: 3600.",
        examples=[900],
    )
    max_lag_records: _Positive | None = Field(
        default=None,
        description="Records not in their table above which the check caught_up fails; by default their "
        "number doesn't matter.",
        examples=[100_000],
    )
    protobuf_message: Message = Field(
        default="",
        description="Full name of the Protobuf message that the topic's values are, if it is not the first "
        "of its schema.",
        examples=["shop.v1.Order"],
    )
    backfill: BackfillSlices | None = None
    in_default_glue: bool = True
    origin: str = ""
    replace_moved: bool = False

    @property
    def name(self) -> TableName:
        """The name of the table."""
        return TableName(self.catalog, self.database, self.table)

    @property
    def dotted(self) -> str:
        """The table's name as people write it, with the catalog unless that is the default one of Glue."""
        return f"{self.database}.{self.table}" if self.in_default_glue else str(self.name)

    @property
    def portable_names(self) -> bool:
        """Whether metadata columns are named `cflt_metadata_...`, and not `$$...`."""
        return self.metadata_names == "portable"

    @property
    def start_time(self) -> datetime | None:
        """The time of a start that is one; None for `earliest` and `latest`."""
        return _time_of(self.start)
