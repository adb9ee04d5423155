"""The YAML's entries for topics, whose fields are those of `TopicLoad`, each of which may be left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from lineage_bridge_dagster.config.value_types import pattern_type
from lineage_bridge_dagster.config.views import view_of
from lineage_bridge_dagster.config.yaml_errors import Path
from lineage_bridge_dagster.config.yaml_schema import Accepts
from lineage_bridge_dagster.config.yaml_section import YamlSection, yaml_type
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import BackfillSlices, Name, TopicLoad

_COLUMN = r"[^\s(),`'\"]+"
_TRANSFORM = re.compile(
    rf"(?:(?:years?|months?|days?|hours?)\(\s*{_COLUMN}\s*\)"
    rf"|(?:bucket|truncate)\(\s*[1-9]\d*\s*,\s*{_COLUMN}\s*\)|{_COLUMN})"
)
_ORDER = re.compile(rf"{_TRANSFORM.pattern}(?:\s+(?:asc|desc))?(?:\s+nulls\s+(?:first|last))?", re.IGNORECASE)
_TOPICS = pattern_type(
    r"[A-Za-z0-9._*?-]{1,249}",
    "the name of a topic, or a pattern of names in which * stands for any text and ? for one character",
)
#: Fields of one topic alone, and those that have another form in the YAML or none.
_OF_A_TOPIC = {"table", "location", "protobuf_message"}
_OTHERS = {"topic", "database", "backfill", "in_default_glue", "origin", "replace_moved"}


@view_of(BackfillSlices, yaml_type)
class BackfillConfig(YamlSection):
    """The partitions by which a table can be loaded again from its topic; none without a start."""


@view_of(TopicLoad, yaml_type, leave_out=_OF_A_TOPIC | _OTHERS)
class LoadFields(YamlSection):
    """How topics are loaded. A field that a topic leaves out is that of `defaults`."""

    database: Annotated[str | None, Accepts(Name)] = Field(
        default=None,
        description="Database (namespace) of the tables. Default: the cluster's id, as Tableflow has it.",
        examples=["sales"],
    )
    backfill: BackfillConfig = Field(
        default_factory=BackfillConfig,
        description="Has an asset of its own load days or hours of a table in mode append again, by the time "
        "of the topic's records.",
    )

    def contradictions(self) -> Iterator[tuple[Path, ConfigurationError]]:
        given = self.given()
        for field, pattern, example in (
            ("partition_by", _TRANSFORM, "days(ordered_at) or bucket(16, id)"),
            ("sort_by", _ORDER, "ordered_at desc"),
        ):
            for index, text in enumerate(given.get(field, ())):
                if not pattern.fullmatch(text.strip()):
                    yield (
                        (field, index),
                        ConfigurationError(
                            f"{text!r} is neither a column nor a transform of one",
                            hint=f"Write, for example, {example}.",
                        ),
                    )
        failures = given.get("failures")
        if "dead_letter_topic" in given and failures in ("suspend", "skip"):
            yield (
                ("dead_letter_topic",),
                ConfigurationError(
                    f"Nothing is written to it with failures: {failures}",
                    hint="Write failures: log, or remove dead_letter_topic.",
                ),
            )


class DefaultsConfig(LoadFields):
    """What applies to every topic whose entry does not set it."""


@view_of(TopicLoad, yaml_type, only=_OF_A_TOPIC)
class TopicEntryConfig(LoadFields):
    """A topic, or a pattern of topics, and how it is loaded."""

    topic: Annotated[str, Accepts(_TOPICS)] = Field(
        default="",
        description="Name of the topic, or a pattern such as sales.*. An entry with a topic's own name "
        "wins; otherwise the first one whose pattern fits.",
        examples=["orders.v1"],
    )

    @property
    def is_pattern(self) -> bool:
        return bool(set(self.topic) & set("*?"))

    def contradictions(self) -> Iterator[tuple[Path, ConfigurationError]]:
        yield from super().contradictions()
        if not self.topic:
            yield (
                (),
                ConfigurationError(
                    "The entry names no topic", hint="Write topic, for example topic: orders.v1."
                ),
            )
        for field in ("table", "location"):
            if self.is_pattern and field in self.given():
                yield (
                    (field,),
                    ConfigurationError(
                        f"All topics of the pattern {self.topic} would share one {field}",
                        hint=f"Remove {field}, or give the topic an entry of its own.",
                    ),
                )
