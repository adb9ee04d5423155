"""Which topics are loaded into which tables, and how: the YAML's entries over its defaults. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict, Field

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.config.glue_iceberg import S3_TABLES
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.topic_tables import (
    DEAD_LETTER_TOPIC,
    Accepted,
    DefaultsConfig,
    Failures,
    LoadFields,
    Mode,
    SliceLength,
    TopicConfig,
    Truncations,
    TypeChanges,
    start_time,
)
from lineage_bridge_dagster.config.yaml_fields import CatalogConfig, SparkConfig

#: Spark, Glue and most query engines fold the capitals of names.
_FOLDED_CATALOGS = frozenset({"glue", "hive"})
#: Fields that a `TopicLoad` has in another form.
_OTHERWISE = frozenset({"metadata_names", "backfill"})
_ENTRY_ONLY = frozenset({"topic", "table", "location"})


class BackfillSlices(BaseModel):
    """The partitions by which a table can be loaded again.

    Attributes:
        start: the first day, in UTC.
        late_minutes: how late a record comes at most; None if that is not known.
        partitions_per_run: None for all partitions of a backfill.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: str
    partition: SliceLength = "day"
    late_minutes: float | None = None
    partitions_per_run: int | None = None


class TopicLoad(BaseModel):
    """A topic, its table and how records become rows.

    Attributes:
        catalog: the name of the table's catalog in Spark.
        in_default_glue: whether that is the default catalog and Glue's, whose tables need no catalog's name.
        raw_columns: whether rows have the bytes of their record's key and value.
        batch_records: the most records in one commit.
        batch_bytes: about the most bytes of keys and values in one commit.
        start: `earliest`, `latest` or a time with its zone, for a new table.
        protobuf_message: the full name of the values' message; empty for the first of their schema.
        type_changes: what happens when a column can't take its field's new type.
        unavailable_value: the placeholder for values that Debezium didn't get; empty for its default.
        truncations: what happens on Debezium's truncate events.
        max_lag_records: None if their number doesn't matter.
        backfill: None if the table cannot be loaded again by partitions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    topic: str
    catalog: str
    database: str
    table: str
    in_default_glue: bool = True
    location: str | None = None
    mode: Mode = "append"
    failures: Failures = "suspend"
    dead_letter_topic: str = DEAD_LETTER_TOPIC
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = Field(default_factory=dict)
    portable_names: bool = False
    raw_columns: bool = True
    batch_records: int = 1_000_000
    batch_bytes: int = 1 << 30
    start: str = "earliest"
    accept: frozenset[Accepted] = frozenset()
    max_lag_seconds: float = 3600.0
    max_lag_records: int | None = None
    protobuf_message: str = ""
    type_changes: TypeChanges = "suspend"
    unavailable_value: str = ""
    truncations: Truncations = "suspend"
    backfill: BackfillSlices | None = None

    @property
    def start_time(self) -> datetime | None:
        return start_time(self.start)

    @property
    def dotted(self) -> str:
        """The table's name as people write it, with the catalog unless that is the default one of Glue."""
        parts = (self.database, self.table)
        return ".".join(parts if self.in_default_glue else (self.catalog, *parts))


@dataclass(frozen=True)
class Collision:
    """Topics whose tables have one name."""

    table: str
    topics: tuple[str, ...]

    def __str__(self) -> str:
        return f"The topics {' and '.join(self.topics)} have one table, {self.table}"


@dataclass(frozen=True)
class CatalogKinds:
    """What the names of tables depend on: the default catalog and each one's type, by name."""

    default: str
    types: Mapping[str, str]

    def type_of(self, catalog: str) -> str:
        return self.types.get(catalog, "glue")


def catalog_kinds(spark: SparkConfig, catalogs: Sequence[CatalogConfig], instance: str) -> CatalogKinds:
    """The names and types of an instance's catalogs, from its YAML and the environment, without AWS.

    Args:
        instance: the instance's name, which its default catalog has too by default.
    """
    given = spark.catalog.given()
    name = given.get("name") or os.environ.get(PREFIX + "CATALOG_NAME")
    default = str(name or CatalogSettings().name + (f"_{instance}" if instance else ""))
    kind = given.get("type") or os.environ.get(PREFIX + "CATALOG_TYPE") or "glue"
    fields = [each.given() for each in catalogs]
    others = {str(each.get("name", "")): str(each.get("type", "glue")) for each in fields}
    return CatalogKinds(default, {S3_TABLES: "rest", **others, default: str(kind)})


class LoadPlan:
    """The topics of an instance.

    Args:
        entries: of the YAML.
        defaults: for what an entry leaves out.
        database: of topics for which neither names one.
        catalogs: those of the instance.
    """

    def __init__(
        self,
        entries: Sequence[TopicConfig],
        defaults: DefaultsConfig,
        *,
        database: str,
        catalogs: CatalogKinds,
    ) -> None:
        self._entries = entries
        self._defaults = defaults
        self._database = database
        self._catalogs = catalogs

    @property
    def named(self) -> list[str]:
        """The topics with an entry of their own, in the YAML's order."""
        return list(dict.fromkeys(each.topic for each in self._entries if not each.is_pattern))

    def loads(self, topics: Iterable[str]) -> list[TopicLoad]:
        """How to load the named topics, and those of the given ones that fit a pattern, by topic.

        Topics whose tables have the name of an earlier one's are left out: see `collisions`.
        """
        found: dict[str, TopicLoad] = {}
        for load in self._all(topics):
            found.setdefault(load.dotted.casefold(), load)
        return sorted(found.values(), key=lambda load: load.topic)

    def collisions(self, topics: Iterable[str]) -> list[Collision]:
        """Tables that several topics claim."""
        claimed: dict[str, list[TopicLoad]] = {}
        for each in self._all(topics):
            claimed.setdefault(each.dotted.casefold(), []).append(each)
        return [
            Collision(loads[0].dotted, tuple(load.topic for load in loads))
            for loads in claimed.values()
            if len(loads) > 1
        ]

    def load_of(self, topic: str) -> TopicLoad | None:
        """How to load a topic; None if no entry is for it."""
        entry = self.entry_of(topic)
        return None if entry is None else self._load(topic, entry)

    def entry_of(self, topic: str) -> TopicConfig | None:
        """A topic's own entry, else the first one whose pattern fits."""
        own = (each for each in self._entries if each.topic == topic)
        # Kafka's own topics (`__consumer_offsets`) and Confluent's begin with an underscore.
        fitting = (
            each
            for each in self._entries
            if each.is_pattern
            and fnmatchcase(topic, each.topic)
            and (not topic.startswith("_") or each.topic.startswith("_"))
        )
        return next(own, None) or next(fitting, None)

    def _all(self, topics: Iterable[str]) -> list[TopicLoad]:
        every = [self._load("any", entry) for entry in self._entries]
        dead_letters = {each.dead_letter_topic for each in every if each.failures == "log"}
        # A queue that fits the pattern would be loaded into a table, whose failures it would take.
        fitting = sorted(set(topics) - dead_letters - set(self.named))
        return [load for topic in (*self.named, *fitting) if (load := self.load_of(topic)) is not None]

    def _load(self, topic: str, entry: TopicConfig) -> TopicLoad:
        fields = {**_given(self._defaults), **_given(entry)}
        catalog = str(fields.pop("catalog", None) or self._catalogs.default)
        kind = self._catalogs.type_of(catalog)
        fold = str.lower if kind in _FOLDED_CATALOGS else str
        return TopicLoad.model_validate(
            {
                **{name: value for name, value in fields.items() if name not in _OTHERWISE},
                "topic": topic,
                "catalog": catalog,
                "in_default_glue": catalog == self._catalogs.default and kind == "glue",
                "database": fold(str(fields.get("database") or self._database)),
                "table": fold(entry.table or topic),
                "portable_names": fields.get("metadata_names") == "portable",
                "properties": {
                    **(self._defaults.properties or {}),
                    **(entry.properties or {}),
                },
                "backfill": self._backfill(entry),
            }
        )

    def mode_of(self, entry: TopicConfig) -> str:
        """How the records of an entry's topics become rows."""
        return entry.mode or self._defaults.mode or "append"

    def _backfill(self, entry: TopicConfig) -> dict[str, object] | None:
        """The partitions of an entry's tables; None without a start, and for tables by key."""
        given = {**self._defaults.backfill.given(), **entry.backfill.given()}
        return given if given.get("start") and self.mode_of(entry) == "append" else None


def _given(fields: LoadFields) -> dict[str, object]:
    return {
        name: value for name, value in fields.given().items() if name not in _ENTRY_ONLY or name == "location"
    }


def is_cluster_id(text: str) -> bool:
    """Whether a cluster is given by its id in Confluent Cloud and not by a name."""
    return re.fullmatch(r"lkc-[a-z0-9]+", text) is not None
