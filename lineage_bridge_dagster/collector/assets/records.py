"""What the event log says about a day: its last extract, and who approved which manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dagster import AssetKey, AssetMaterialization, AssetRecordsFilter, DagsterInstance

from lineage_bridge_dagster.collector.assets.metadata import key
from lineage_bridge_dagster.collector.assets.source import CollectorSource
from lineage_bridge_dagster.collector.manifests import Manifest
from lineage_bridge_dagster.errors import LineageBridgeError


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
