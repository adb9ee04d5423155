"""The assets of an extract: one run reads Glue once, and writes the files of all regions and kinds."""

from collections.abc import Iterator
from typing import Any

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetsDefinition,
    AssetSpec,
    Config,
    MaterializeResult,
    MetadataValue,
    multi_asset,
)
from pydantic import Field

from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.collector.assets.mark_asset import move_mark, moves, range_of_day
from lineage_bridge_dagster.collector.assets.metadata import (
    CollectorMetadata,
    RowsSeen,
    kind_definition,
    kind_metadata,
    manifest_metadata,
    unread_sentence,
    unread_table,
)
from lineage_bridge_dagster.collector.assets.source import CollectorSource
from lineage_bridge_dagster.collector.extractor import Extract, Extractor
from lineage_bridge_dagster.collector.layout import LINEAGE
from lineage_bridge_dagster.collector.manifests import Manifest
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.times import utc_now

ANSWERED = "regions_answered"
APPROVED = "approved"


class ExtractConfig(Config):
    """What a run may set."""

    start: str = Field(
        default="",
        description="Extract changes from this time on, in UTC, such as 2026-11-22 12:00:00; by default from "
        "the mark, or from the start of the day if that is earlier. A start after the mark does not move it.",
    )


def extract_assets(source: CollectorSource) -> AssetsDefinition:
    """The assets of each region and kind, and the manifest, built by one op that is never subset."""
    format_ = source.settings.format
    kinds = [
        AssetSpec(
            key,
            group_name=source.group(region),
            description=f"{kind.description}, in {region}.",
            kinds={"glue", format_},
            metadata=kind_definition(kind),
        )
        for region, kind, key in source.of_kinds()
    ]
    if source.lineage_state:
        kinds.append(
            AssetSpec(
                source.lineage,
                group_name=source.group(),
                description=f"{LINEAGE.description}.",
                kinds={format_},
                metadata=kind_definition(LINEAGE),
                # Without a discovery there is no file.
                skippable=True,
            )
        )
    manifest = AssetSpec(
        source.manifest,
        deps=[spec.key for spec in kinds],
        group_name=source.group(),
        description="The files of an extract with their rows and SHA-256, its range and what could not be "
        "read. It is written last: an extract without a manifest is not whole.",
        kinds={"glue", "json"},
    )
    checks = [
        AssetCheckSpec(
            ANSWERED,
            asset=source.manifest,
            description="Every region and database was fully read. What was not is carried from the last "
            "extract, and its changes come with the next one that reads it.",
        )
    ]
    if source.require_approval:
        checks.append(
            AssetCheckSpec(
                APPROVED,
                asset=source.manifest,
                description="A person looked at the files and approved their upload.",
            )
        )

    @multi_asset(
        name=source.op,
        specs=[*kinds, manifest],
        check_specs=checks,
        partitions_def=source.partitions,
        can_subset=False,
        # A limit of this pool keeps the extracts of a backfill apart.
        pool=source.op,
    )
    def collect(context: AssetExecutionContext, config: ExtractConfig) -> Iterator[Any]:
        with readable_failures():
            yield from _collect(source, context, config)

    return collect


def _collect(
    source: CollectorSource, context: AssetExecutionContext, config: ExtractConfig
) -> Iterator[MaterializeResult[Any] | AssetCheckResult]:
    extractor = Extractor(
        **source.values,
        name=source.name,
        home=lambda settings: source.marks(context.instance, settings),
        progress=context.log.info,
    )
    mark = extractor.marks.read()
    window = context.partition_time_window
    start, end = range_of_day(mark, window.start, window.end, utc_now(), config.start)
    seen = RowsSeen(source.preview_rows)
    discovery = _last_discovery(source, context)
    try:
        extract = extractor.run(start, end, discovery=discovery, observe=seen)
    except LineageBridgeError as error:
        yield _answered(source, f"There is no extract. {error.reason}", [], [])
        raise
    manifest = Manifest.read(extract.manifest)
    for region, kind, key in source.of_kinds():
        yield MaterializeResult(key, metadata=kind_metadata(extract, kind, region, seen))
    if discovery is not None:
        yield MaterializeResult(source.lineage, metadata=kind_metadata(extract, LINEAGE, "", seen))
    lands = extractor.settings.landing is not None
    after = extract.end if moves(mark, extract.start, extract.end) else mark or "none"
    marks = {
        "mark_before": mark or "none",
        "mark_after": "moves when the files have landed" if lands else after,
        "mark_location": extractor.marks.location,
    }
    metadata = manifest_metadata(extract, manifest, source.kinds, source.regions, seen, **marks)
    yield MaterializeResult(source.manifest, metadata=metadata)
    yield _outcome(source, extract)
    if source.require_approval:
        yield _waits_for_approval(source, manifest)
    if not lands:
        # After the events above were stored, so that a crash repeats the extract.
        move_mark(source, context, extractor.marks, manifest)


def _last_discovery(source: CollectorSource, context: AssetExecutionContext) -> Discovery | None:
    """The last good discovery of the component whose lineage is extracted."""
    if not source.lineage_state:
        return None
    discovery = StateStore.of(context.instance, source.lineage_state).last_good(context.log.warning)
    if discovery is None:
        context.log.warning(
            f"Nothing is stored under {source.lineage_state}, so no lineage is extracted. Run the refresh "
            "job of that component, or correct the field lineage."
        )
    return discovery


def _outcome(source: CollectorSource, extract: Extract) -> AssetCheckResult:
    unread = extract.incomplete
    if not unread:
        regions = ", ".join(source.regions)
        return AssetCheckResult(
            passed=True,
            asset_key=source.manifest,
            check_name=ANSWERED,
            description=f"Every database of {regions} was read: {extract.tables:,} tables.",
        )
    failed = sorted({scope.source.region for scope in unread})
    text = f"Not fully read: {', '.join(failed)}. {unread_sentence(unread, failed)}"
    return _answered(source, text, failed, unread)


def _answered(source: CollectorSource, text: str, regions: list[str], unread: list[Any]) -> AssetCheckResult:
    metadata = (
        {**CollectorMetadata(unread=MetadataValue.md(unread_table(unread))), "regions": ", ".join(regions)}
        if unread
        else {}
    )
    return AssetCheckResult(
        passed=False,
        asset_key=source.manifest,
        check_name=ANSWERED,
        severity=AssetCheckSeverity.ERROR,
        description=text,
        metadata=metadata,
    )


def _waits_for_approval(source: CollectorSource, manifest: Manifest) -> AssetCheckResult:
    return AssetCheckResult(
        passed=False,
        asset_key=source.manifest,
        check_name=APPROVED,
        severity=AssetCheckSeverity.WARN,
        description=f"Look at the files in {manifest.path.parent}, then run the job {source.approve_job} for "
        "this day: it approves and uploads them. The mark stays until then.",
        metadata={**CollectorMetadata(manifest_sha256=manifest.sha256)},
    )
