"""The approval of an extract by a person, and its upload."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagster import (
    AssetCheckEvaluation,
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetRecordsFilter,
    AssetsDefinition,
    Config,
    DagsterInstance,
    MaterializeResult,
    MetadataValue,
    asset,
)
from pydantic import Field

from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.collector.assets.extract import APPROVED
from lineage_bridge_dagster.collector.assets.mark_asset import move_mark
from lineage_bridge_dagster.collector.assets.metadata import CollectorMetadata, key
from lineage_bridge_dagster.collector.assets.source import CollectorSource
from lineage_bridge_dagster.collector.landing import landing_of, upload
from lineage_bridge_dagster.collector.manifests import Manifest
from lineage_bridge_dagster.collector.settings import CollectorSettings
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.text import byte_size, plural


@dataclass(frozen=True, slots=True)
class Approval:
    """The last approval of a day; `manifest_sha256` is that of the manifest that was approved."""

    manifest_sha256: str
    approved_by: str


def manifest_of_day(source: CollectorSource, instance: DagsterInstance, day: str) -> Manifest:
    """The manifest of a day's last extract.

    Raises:
        LineageBridgeError: There is none, or it is not what the extract wrote.
    """
    event = _last(instance, source.manifest, day)
    path, digest = _text(event, "path"), _text(event, "manifest_sha256")
    if not path:
        raise LineageBridgeError(
            f"{source.manifest.to_user_string()} has no extract of {day}.",
            hint=f"Run the job {source.collect_job} for this day first.",
        )
    manifest = Manifest.read(Path(path))
    if manifest.sha256 != digest:
        raise LineageBridgeError(
            f"{path} is not what the extract of {day} wrote: its SHA-256 differs.",
            hint="Find out what changed it, and extract the day again.",
        )
    return manifest


def approval_of_day(source: CollectorSource, instance: DagsterInstance, day: str) -> Approval | None:
    """The last approval of a day."""
    event = _last(instance, source.approval, day)
    digest = _text(event, "manifest_sha256")
    return Approval(digest, _text(event, "approved_by")) if digest else None


def is_last_extract(source: CollectorSource, instance: DagsterInstance, manifest: Manifest) -> bool:
    """Whether the manifest's extract is the latest, whatever its day."""
    event = instance.get_latest_materialization_event(source.manifest)
    return _text(event.asset_materialization if event else None, "manifest_sha256") == manifest.sha256


def _last(instance: DagsterInstance, asset: AssetKey, day: str) -> AssetMaterialization | None:
    filter_ = AssetRecordsFilter(asset_key=asset, asset_partitions=[day])
    records = instance.fetch_materializations(filter_, limit=1).records
    return records[0].asset_materialization if records else None


def _text(event: AssetMaterialization | None, field: str) -> str:
    value = event.metadata.get(key(field)) if event else None
    return str(value.value) if value is not None else ""


#: Tags of runs that no person launched.
_AUTOMATIC = ("dagster/schedule_name", "dagster/sensor_name", "dagster/from_automation_condition")


class ApprovalConfig(Config):
    """What a person says about an approval."""

    approved_by: str = Field(default="", description="Who approves, for the record.")
    manifest_sha256: str = Field(
        default="",
        description="SHA-256 of the manifest that was looked at; another one is not approved.",
    )
    note: str = Field(default="", description="A note for the record.")


def approval_asset(source: CollectorSource) -> AssetsDefinition:
    """The approval of a day's extract, which a person materializes."""

    @asset(
        key=source.approval,
        deps=[source.manifest],
        group_name=source.group(),
        partitions_def=source.partitions,
        description="A person looked at the files of a day's extract, and approves their upload: materialize "
        "this asset for the day. The approval holds for the manifest that is there now, and so for the files "
        "that it names.",
    )
    def approval(context: AssetExecutionContext, config: ApprovalConfig) -> MaterializeResult[Any]:
        with readable_failures():
            _check_person(source, context)
            manifest = manifest_of_day(source, context.instance, context.partition_key)
            manifest.verify()
            if config.manifest_sha256 and config.manifest_sha256 != manifest.sha256:
                raise LineageBridgeError(
                    f"The manifest of {context.partition_key} is not the one that was looked at: its SHA-256 "
                    f"is {manifest.sha256}.",
                    hint="Look at the files again.",
                )
        if is_last_extract(source, context.instance, manifest):
            _report_approved(source, context, manifest, config.approved_by)
        return MaterializeResult(
            metadata={
                **CollectorMetadata(
                    approved_by=config.approved_by or context.run.tags.get("user") or "not said",
                    note=config.note or None,
                    manifest_sha256=manifest.sha256,
                    path=MetadataValue.path(str(manifest.path)),
                    range_start=manifest.start,
                    range_end=manifest.end,
                )
            }
        )

    return approval


def landing_asset(source: CollectorSource) -> AssetsDefinition:
    """The upload of a day's extract to its landing place; the mark moves after it."""

    @asset(
        key=source.landing,
        deps=[source.manifest, *([source.approval] if source.require_approval else [])],
        group_name=source.group(),
        partitions_def=source.partitions,
        description="The files in their landing place, the manifest last. Each was compared with the "
        "manifest before"
        + (", and that with the approval" if source.require_approval else "")
        + ". The mark moves once every file has arrived.",
    )
    def landing(context: AssetExecutionContext) -> MaterializeResult[Any]:
        with readable_failures():
            return _land(source, context)

    return landing


def _check_person(source: CollectorSource, context: AssetExecutionContext) -> None:
    """Check that somebody may have looked at the files.

    Raises:
        ConfigurationError: The run writes the manifest itself, or no person launched it.
    """
    hint = f"Run the job {source.approve_job} for the day once you have looked at its files."
    if source.manifest in context.job_def.asset_layer.selected_asset_keys:
        raise ConfigurationError(
            "Nobody has looked at the files, which this run wrote itself, so it cannot approve them.",
            hint=hint,
        )
    for tag in _AUTOMATIC:
        if name := context.run.tags.get(tag):
            raise ConfigurationError(
                f"{name} launched this run, and only a person approves an extract.", hint=hint
            )


def _report_approved(
    source: CollectorSource, context: AssetExecutionContext, manifest: Manifest, approved_by: str
) -> None:
    context.instance.report_runless_asset_event(
        AssetCheckEvaluation(
            asset_key=source.manifest,
            check_name=APPROVED,
            passed=True,
            description=f"Approved{f' by {approved_by}' if approved_by else ''}.",
            metadata={**CollectorMetadata(manifest_sha256=manifest.sha256)},
        )
    )


def _land(source: CollectorSource, context: AssetExecutionContext) -> MaterializeResult[Any]:
    day = context.partition_key
    settings = CollectorSettings.of(source.values)
    if settings.landing is None:
        raise ConfigurationError(
            f"{source.server} has no landing place.", hint="Set landing.url, or leave this asset out."
        )
    manifest = manifest_of_day(source, context.instance, day)
    approved_by = _approved_by(source, context, manifest, day) if source.require_approval else None
    manifest.verify()
    landed = upload(landing_of(settings.landing), manifest.files, manifest.path, context.log.info)
    before, after = move_mark(source, context, source.marks(context.instance, settings), manifest)
    rows = [[each.name, byte_size(each.size), each.url] for each in landed]
    return MaterializeResult(
        metadata={
            **CollectorMetadata(
                landed=MetadataValue.md(markdown_table(["file", "size", "URL"], rows)),
                files=MetadataValue.md(plural(len(landed), "file")),
                size=byte_size(sum(each.size for each in landed)),
                range_start=manifest.start,
                range_end=manifest.end,
                mark_before=before or "none",
                mark_after=after or "none",
                manifest_sha256=manifest.sha256,
                approved_by=approved_by,
            )
        }
    )


def _approved_by(
    source: CollectorSource, context: AssetExecutionContext, manifest: Manifest, day: str
) -> str:
    """Who approved the manifest.

    Raises:
        LineageBridgeError: Nobody did, or an earlier manifest was approved.
    """
    approval = approval_of_day(source, context.instance, day)
    hint = f"Look at the files in {manifest.path.parent}, and run the job {source.approve_job} for {day}."
    if approval is None:
        raise LineageBridgeError(f"Nobody has approved the extract of {day}.", hint=hint)
    if approval.manifest_sha256 != manifest.sha256:
        raise LineageBridgeError(
            f"The approval of {day} is for an earlier extract: the day was extracted again since.", hint=hint
        )
    return approval.approved_by
