"""The component of the inventory collector: one instance extracts one source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated

from dagster import (
    AssetsDefinition,
    AssetSelection,
    Component,
    ComponentLoadContext,
    DefaultScheduleStatus,
    Definitions,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    define_asset_job,
    scaffold_with,
)
from pydantic import Field

from lineage_bridge_dagster.collector.assets.extract import extract_assets
from lineage_bridge_dagster.collector.assets.fields import CollectorConfig
from lineage_bridge_dagster.collector.assets.mark_asset import mark_asset
from lineage_bridge_dagster.collector.assets.scaffold import CollectorScaffolder
from lineage_bridge_dagster.collector.assets.source import IN_DAGSTER, CollectorSource, file_prefix
from lineage_bridge_dagster.collector.assets.upload import approval_asset, landing_asset
from lineage_bridge_dagster.collector.mark_homes import check_place
from lineage_bridge_dagster.collector.marks import check_prefix
from lineage_bridge_dagster.collector.settings import CollectorSettings
from lineage_bridge_dagster.collector.variables import VARIABLES
from lineage_bridge_dagster.config.value_types import Day
from lineage_bridge_dagster.config.yaml_fields import CRON
from lineage_bridge_dagster.config.yaml_schema import Accepts
from lineage_bridge_dagster.dagster_internals.definitions import (
    UnresolvedAssetJobDefinition,
    reverse_cron_string_iterator,
)
from lineage_bridge_dagster.errors import ConfigurationError


@scaffold_with(CollectorScaffolder)
class InventoryCollectorComponent(Component, CollectorConfig):
    """Extracts what is in Glue to files, a partition a day, and takes them to a governance tool."""

    start_date: Annotated[str, Accepts(Day)] = Field(
        description="First day that can be extracted, in UTC; the first extract has everything, however old.",
        examples=["2026-01-01"],
    )
    cron: Annotated[str, CRON] = Field(
        default="15 0 * * *",
        description="Schedule of extracts, as a cron expression in UTC; empty: none. Once a day, it extracts "
        "yesterday.",
        examples=["15 0 * * *"],
    )
    running: bool = Field(
        default=False, description="Start the schedule without a click in the UI.", examples=[True]
    )
    require_approval: bool = Field(
        default=False,
        description="Upload an extract only when a person has approved it.",
        examples=[True],
    )
    hwm_path: str = Field(
        default=IN_DAGSTER,
        description="Where the mark is: dagster (its instance), a folder, or s3://bucket/prefix.",
        examples=["s3://bucket/prefix"],
    )
    name: str = Field(
        default="",
        description="First part of the names of files and of the mark; by default the server.",
        examples=["glue"],
    )
    preview_rows: Annotated[int, Accepts(Annotated[int, Field(ge=0, le=50)])] = Field(
        default=5,
        description="Rows of each kind and region to show in the metadata, as masked as the files; 0: none.",
        examples=[5],
    )

    lineage: str = Field(
        default="",
        description="Extract the lineage of a LineageBridgeComponent as well: the key of its stored "
        "discoveries, LineageBridgeComponent or, of an instance with a name, LineageBridgeComponent[name].",
        examples=["LineageBridgeComponent"],
    )

    def contradictions(self) -> Iterator[tuple[tuple[str | int, ...], ConfigurationError]]:
        """What is wrong with the configuration as a whole."""
        try:
            self._source()
        except ConfigurationError as error:
            yield (), error

    def build_defs(self, context: ComponentLoadContext) -> Definitions:
        """Build the assets, jobs and schedule of the source. Nothing is read from AWS.

        Raises:
            ConfigurationError: another instance in the code location has the same server or name.
        """
        _check_distinct(context.component_tree.get_all_components(of_type=InventoryCollectorComponent))
        source = self._source()
        collect = collect_job(source)
        assets: list[AssetsDefinition] = [extract_assets(source)]
        jobs = [collect]
        if source.lands:
            assets.append(landing_asset(source))
        if source.lands and source.require_approval:
            assets.append(approval_asset(source))
            jobs.append(approve_job(source))
        return Definitions(
            assets=[*assets, mark_asset(source)],
            jobs=jobs,
            schedules=daily_schedule(source, collect, self.cron, self.running),
        )

    def _source(self) -> CollectorSource:
        values = self.values()
        settings = CollectorSettings.of(values, "the collector", secrets=_unread)
        name = check_prefix(file_prefix(settings.server, self.name))
        check_place(self.hwm_path)
        if self.require_approval and settings.landing is None:
            raise ConfigurationError(
                "require_approval is set, but there is no landing place, so nothing is uploaded.",
                hint="Set landing.url, or take out require_approval.",
            )
        return CollectorSource(
            values,
            settings,
            name,
            self.hwm_path,
            self.start_date,
            self.require_approval,
            self.preview_rows,
            self.lineage,
        )


def _unread(*_: object) -> dict[str, str]:
    """What stands for AWS Secrets Manager while definitions load, which read nothing: it may have these."""
    return dict.fromkeys((f"{VARIABLES}KEY", f"{VARIABLES}SECRET"), "unread")


def _check_distinct(instances: Sequence[InventoryCollectorComponent]) -> None:
    """Check that no two instances in a code location have one source, or one name of files and mark.

    Raises:
        ConfigurationError: two have.
    """
    sources = [instance._source() for instance in instances]
    servers = Counter(source.server for source in sources)
    places = Counter((str(source.settings.output_path), source.name) for source in sources)
    for server, count in servers.items():
        if count > 1:
            raise ConfigurationError(
                f"{count} instances of the collector have the server {server}.",
                hint="Set a server of its own in the defs.yaml of each: assets, jobs and marks are named "
                "after it. One instance reads several regions.",
            )
    for (folder, name), count in places.items():
        if count > 1:
            raise ConfigurationError(
                f"{count} instances of the collector write files of the name {name} to {folder}.",
                hint="Set a name of its own in the defs.yaml of each.",
            )


def collect_job(source: CollectorSource) -> UnresolvedAssetJobDefinition:
    """The job that extracts a day, and uploads it unless a person has to approve that."""
    selection: AssetSelection = AssetSelection.assets(source.manifest).required_multi_asset_neighbors()
    uploads = source.lands and not source.require_approval
    if uploads:
        selection |= AssetSelection.assets(source.landing)
    return define_asset_job(
        source.collect_job,
        selection,
        description=f"Extracts what is in Glue for {source.server}"
        + (" and uploads the files." if uploads else ".")
        + (f" `{source.approve_job}` uploads them." if source.lands and not uploads else ""),
    )


def approve_job(source: CollectorSource) -> UnresolvedAssetJobDefinition:
    """The job with which a person approves a day's extract, which is then uploaded."""
    return define_asset_job(
        source.approve_job,
        AssetSelection.assets(source.approval, source.landing),
        description=f"Approves the extract of a day of {source.server}, and uploads it. Look at the files "
        "first.",
    )


def daily_schedule(
    source: CollectorSource, job: UnresolvedAssetJobDefinition, cron: str, running: bool
) -> list[ScheduleDefinition]:
    """Regular extracts, unless the cron expression is empty."""
    if not cron:
        return []

    def requests(context: ScheduleEvaluationContext) -> Iterator[RunRequest]:
        at = context.scheduled_execution_time
        yield RunRequest(run_key=at.isoformat(), partition_key=day_of_tick(source, cron, at))

    return [
        ScheduleDefinition(
            name=f"{source.collect_job}_schedule",
            job=job,
            cron_schedule=cron,
            execution_fn=requests,
            default_status=DefaultScheduleStatus.RUNNING if running else DefaultScheduleStatus.STOPPED,
            description=f"Runs `{source.collect_job}` for the day on which the time since the last tick "
            "began: once a day, that is yesterday.",
        )
    ]


def day_of_tick(source: CollectorSource, cron: str, at: datetime) -> str:
    """The day that a tick extracts: the one on which the time since the tick before began.

    With one tick a day that is yesterday, which is over; with one an hour it is today, until the first tick
    after midnight.
    """
    ticks = reverse_cron_string_iterator(at.timestamp() - 1, cron, "UTC")
    day = next(ticks).strftime("%Y-%m-%d")
    return max(day, source.start_date)
