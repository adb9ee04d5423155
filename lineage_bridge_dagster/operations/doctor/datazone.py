"""Whether lineage can be posted to the DataZone domain."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.datazone.domain import DataZoneDomain
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Result, failed, ok, skipped


def domain(context: Context) -> Iterator[Result]:
    """Whether the domain is there and shows us its events. Nothing is posted."""
    settings = context.datazone
    tried = f"ListLineageEvents of the domain {settings.domain}."
    if not settings.domain:
        yield skipped("Looked for a DataZone domain.", "datazone.domain is empty.", "")
        return
    try:
        next(DataZoneDomain(context.client("datazone"), settings.domain).events(utc_now()), None)
    except CallError as error:
        yield failed(tried, error.message, error.hint)
        return
    if settings.topic_asset_type and not settings.project:
        yield failed(tried, "Topics are to be assets of no project.", "Set datazone.project.")
        return
    yield ok(tried, "The domain is there, and this identity may read its events.")
