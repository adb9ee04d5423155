"""Which topics are loaded into which tables, and how: the YAML's entries over its defaults. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.yaml_sections import CatalogConfig
from lineage_bridge_dagster.config.glue_iceberg import S3_TABLES
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.spark.settings import SparkConfig
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_entries import DefaultsConfig, TopicEntryConfig
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

#: Spark, Glue and most query engines fold the capitals of names.
_FOLDED_CATALOGS = frozenset({"glue", "hive"})


@dataclass(frozen=True)
class Collision:
    """Topics whose tables have one name."""

    table: str
    topics: tuple[str, ...]

    def __str__(self) -> str:
        return f"The topics {' and '.join(self.topics)} have one table, {self.table}"


@dataclass(frozen=True)
class CatalogKinds:
    """The default catalog, and the type of each catalog by its name: the names of tables depend on both."""

    default: str
    types: Mapping[str, str]

    def type_of(self, catalog: str) -> str:
        return self.types.get(catalog, "glue")


def catalog_kinds(spark: SparkConfig, catalogs: Sequence[CatalogConfig], instance: str) -> CatalogKinds:
    """The names and types of an instance's catalogs, from its YAML and the environment, without AWS.

    Args:
        spark: the section that has the default catalog.
        catalogs: the others.
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
    """Which topics an instance loads, and how.

    Args:
        entries: the YAML's entries.
        defaults: what applies where an entry leaves a field out.
        database: the database of topics for which neither an entry nor the defaults name one.
        catalogs: the instance's catalogs.
    """

    def __init__(
        self,
        entries: Sequence[TopicEntryConfig],
        defaults: DefaultsConfig,
        *,
        database: str,
        catalogs: CatalogKinds,
    ) -> None:
        self._entries = entries
        self._defaults = defaults.given()
        self._database = database
        self._catalogs = catalogs

    def loads(self, topics: Iterable[str]) -> list[TopicLoad]:
        """How to load the named topics, and those of the given ones that fit a pattern, by topic.

        Topics whose tables have the name of an earlier one's are left out: see `collisions`.
        """
        return sorted((loads[0] for loads in self._by_table(topics)), key=lambda load: load.topic)

    def collisions(self, topics: Iterable[str]) -> list[Collision]:
        """Tables that several topics claim."""
        return [
            Collision(loads[0].dotted, tuple(load.topic for load in loads))
            for loads in self._by_table(topics)
            if len(loads) > 1
        ]

    def load_of(self, topic: str) -> TopicLoad | None:
        """How to load a topic, by its own entry, else by the first one whose pattern fits; None without."""
        own = (each for each in self._entries if each.topic == topic)
        # Kafka's own topics (`__consumer_offsets`) and Confluent's begin with an underscore.
        fitting = (
            each
            for each in self._entries
            if each.is_pattern
            and fnmatchcase(topic, each.topic)
            and (not topic.startswith("_") or each.topic.startswith("_"))
        )
        entry = next(own, None) or next(fitting, None)
        return None if entry is None else self._load(topic, entry)

    def mode_of(self, entry: TopicEntryConfig) -> str:
        """How the records of an entry's topics become rows."""
        return str({**self._defaults, **entry.given()}.get("mode", "append"))

    def _by_table(self, topics: Iterable[str]) -> list[list[TopicLoad]]:
        """The loads of each table: named topics in the YAML's order, then topics that match patterns."""
        named = dict.fromkeys(each.topic for each in self._entries if not each.is_pattern)
        every = [self._load("any", entry) for entry in self._entries]
        # A dead letter queue that matches a pattern would be loaded too, and take its own failures.
        dead_letters = {each.dead_letter_topic for each in every if each.failures == "log"}
        fitting = sorted(set(topics) - dead_letters - named.keys())
        claimed: dict[str, list[TopicLoad]] = {}
        for topic in (*named, *fitting):
            if (load := self.load_of(topic)) is not None:
                claimed.setdefault(load.dotted.casefold(), []).append(load)
        return list(claimed.values())

    def _load(self, topic: str, entry: TopicEntryConfig) -> TopicLoad:
        given = entry.given()
        fields: dict[str, Any] = {**self._defaults, **given}
        catalog = fields.get("catalog") or self._catalogs.default
        kind = self._catalogs.type_of(catalog)
        fold = str.lower if kind in _FOLDED_CATALOGS else str
        backfill = {**_backfill(self._defaults), **_backfill(given)}
        fields |= {
            "topic": topic,
            "catalog": catalog,
            "in_default_glue": catalog == self._catalogs.default and kind == "glue",
            "database": fold(fields.get("database") or self._database),
            "table": fold(given.get("table") or topic),
            "properties": {**self._defaults.get("properties", {}), **given.get("properties", {})},
            # Tables by key have none, nor has what gives no first day.
            "backfill": backfill if "start" in backfill and self.mode_of(entry) == "append" else None,
        }
        return TopicLoad.model_validate(fields)


def _backfill(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given["backfill"].items() if value not in (None, "")}
