"""One source of the collector: its settings, and the names of its assets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dagster import AssetKey, DagsterInstance, DailyPartitionsDefinition

from lineage_bridge_dagster.collector.assets.instance_marks import InstanceMarks
from lineage_bridge_dagster.collector.layout import KINDS, LF_TAGS, LINEAGE, Kind
from lineage_bridge_dagster.collector.mark_homes import marks_of
from lineage_bridge_dagster.collector.marks import Marks
from lineage_bridge_dagster.collector.settings import CollectorSettings
from lineage_bridge_dagster.specs.keys import group_segment, tag_value

#: The place of a mark that is in Dagster's instance.
IN_DAGSTER = "dagster"


@dataclass(frozen=True)
class CollectorSource:
    """One source.

    Attributes:
        values: Its configuration as it was written, without secrets.
        settings: The same, as it is known when definitions load: without AWS Secrets Manager.
        name: The first part of the names of files and of the mark.
        mark_place: A folder, `s3://bucket/prefix` or `dagster`.
        start_date: The first day, as `2026-11-22`.
        require_approval: Whether a person approves an extract before it is uploaded.
        preview_rows: Rows of each kind and region to show.
        lineage_state: The key of the stored discovery whose lineage is extracted; empty for none.
    """

    values: Mapping[str, Any] = field(repr=False)
    settings: CollectorSettings = field(repr=False)
    name: str
    mark_place: str
    start_date: str
    require_approval: bool
    preview_rows: int
    lineage_state: str = ""

    @property
    def server(self) -> str:
        return self.settings.server

    @property
    def slug(self) -> str:
        """The server in names of jobs, ops and groups."""
        return group_segment(self.server)

    @property
    def op(self) -> str:
        """The op of an extract, and its pool; jobs and ops share no names."""
        return f"extract_{self.slug}"

    @property
    def collect_job(self) -> str:
        return f"collect_{self.slug}"

    @property
    def approve_job(self) -> str:
        return f"approve_{self.slug}"

    @property
    def lands(self) -> bool:
        """Whether the files are uploaded."""
        return self.settings.landing is not None

    @property
    def regions(self) -> list[str]:
        return list(dict.fromkeys(self.settings.regions))

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of files that have a region."""
        without = [LINEAGE, *([LF_TAGS] if self.settings.lake_formation_tags is False else [])]
        return [kind for kind in KINDS if kind not in without]

    @cached_property
    def partitions(self) -> DailyPartitionsDefinition:
        """Days in UTC, today included."""
        return DailyPartitionsDefinition(self.start_date, end_offset=1)

    def key(self, *parts: str) -> AssetKey:
        # Dagster derives names of outputs from keys, which a key with other characters would fail.
        return AssetKey(["collector", tag_value(self.server), *parts])

    def group(self, region: str = "") -> str:
        return "/".join(["collector", self.slug, *([region.replace("-", "_")] if region else [])])

    @property
    def lineage(self) -> AssetKey:
        return self.key("lineage")

    @property
    def manifest(self) -> AssetKey:
        return self.key("manifest")

    @property
    def approval(self) -> AssetKey:
        return self.key("approval")

    @property
    def landing(self) -> AssetKey:
        return self.key("landing")

    @property
    def mark(self) -> AssetKey:
        return self.key("high_water_mark")

    def of_kinds(self) -> Iterator[tuple[str, Kind, AssetKey]]:
        """Each region and kind with its asset."""
        for region in self.regions:
            for kind in self.kinds:
                yield region, kind, self.key(region, kind.name)

    def marks(self, instance: DagsterInstance, settings: CollectorSettings) -> Marks:
        """The home of the mark.

        Raises:
            ConfigurationError: The place cannot be that of a mark, or no client can be made.
        """
        if self.mark_place == IN_DAGSTER:
            return InstanceMarks(self.name, instance, self.mark, settings.output_path / ".marks")
        return marks_of(self.name, self.mark_place, settings)


def file_prefix(server: str, name: str | None) -> str:
    """The first part of the names of a source's files: its name, by default that of the server."""
    return name or tag_value(server).lstrip("_.-") or "glue"
