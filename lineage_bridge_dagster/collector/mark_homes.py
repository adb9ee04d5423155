"""The home of a mark by its place: a folder, or a prefix of an S3 bucket."""

from __future__ import annotations

import os

from lineage_bridge_dagster.collector.marks import BEGINNING, FORMAT, MarkFile, Marks
from lineage_bridge_dagster.collector.settings import CollectorSettings, LandingSettings
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.times import utc_now

Place = str | os.PathLike[str] | None
_S3 = ("s3://", "s3a://")


def marks_of(prefix: str, place: Place = None, settings: CollectorSettings | None = None) -> Marks:
    """The home of a mark.

    Args:
        prefix: The name of the mark.
        place: A folder, by default the current one, or `s3://bucket/prefix`.
        settings: The settings of the collector. A mark in S3 is reached and encrypted as a landing place in
            S3 is; without one, with the keys or the role that read Glue.

    Raises:
        ConfigurationError: The prefix or the place cannot be that of a mark, or no client can be made.
    """
    text = os.fspath(place) if place else ""
    if "://" not in text:
        return MarkFile(prefix, text)
    if not text.startswith(_S3):
        raise ConfigurationError(
            f"A mark cannot be kept in {text}.", hint="Use a folder or s3://bucket/prefix."
        )
    from lineage_bridge_dagster.collector.s3_marks import S3Marks
    from lineage_bridge_dagster.collector.s3_place import S3Place

    if settings and settings.landing and settings.landing.url.startswith(_S3):
        return S3Marks(prefix, S3Place.of(settings.landing.model_copy(update={"url": text})))
    if settings is None:
        return S3Marks(prefix, S3Place.of(LandingSettings(url=text)))
    own = LandingSettings(
        url=text, region=settings.regions[0], role=settings.role, external_id=settings.external_id
    )
    return S3Marks(prefix, S3Place.of(own, settings.keys))


def get_hwm(prefix: str = "glue", file_path: Place = None) -> tuple[str, str]:
    """The range of the next extract: the published mark and now, in UTC.

    Args:
        prefix: The mark is in `{prefix}_hwm.txt`.
        file_path: Its folder, by default the current one, or `s3://bucket/prefix`.
    """
    start = marks_of(prefix, file_path).read() or BEGINNING
    return start, utc_now().strftime(FORMAT)


def publish_hwm(prefix: str = "glue", date: str = "", file_path: Place = None) -> str:
    """Move the mark to the end of an extract, once its files have arrived. A later mark stays.

    Returns:
        The mark that holds now.
    """
    return marks_of(prefix, file_path).publish(date)
