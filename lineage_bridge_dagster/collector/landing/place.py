"""A landing place by its URL, and the upload of an extract to it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from lineage_bridge_dagster.collector.landing.landed import Landed
from lineage_bridge_dagster.collector.settings import LandingSettings
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.text import ReportLine


class Landing(Protocol):
    """A place that takes files. A file that is there already is replaced, as after a crash."""

    def put(self, path: Path, name: str) -> Landed:
        """Upload a file; it is seen under its name only when it is whole.

        Raises:
            LineageBridgeError: It did not arrive; the error says what to do.
        """
        ...


def landing_of(settings: LandingSettings) -> Landing:
    """The landing place of a URL: a folder, `s3://bucket/prefix` or a container of Azure Blob Storage.

    Raises:
        ConfigurationError: The URL has another scheme or no bucket, or its client cannot be made.
    """
    url = settings.url
    scheme = urlsplit(url).scheme if "://" in url else ""
    if scheme in ("", "file"):
        from lineage_bridge_dagster.collector.landing.folder import FolderLanding

        return FolderLanding(Path(urlsplit(url).path if scheme else url))
    if scheme in ("s3", "s3a"):
        from lineage_bridge_dagster.collector.landing.s3 import S3Landing

        return S3Landing(settings)
    if scheme in ("https", "http"):
        from lineage_bridge_dagster.collector.landing.azure import AzureLanding

        return AzureLanding(settings)
    raise ConfigurationError(
        f"{scheme}:// is not a landing place.",
        hint="Use a folder, s3://bucket/prefix or https://ACCOUNT.blob.core.windows.net/CONTAINER/prefix.",
    )


def upload(landing: Landing, files: Iterable[Path], manifest: Path, progress: ReportLine) -> list[Landed]:
    """Upload the files of an extract, and its manifest last: with it, the extract is whole.

    Raises:
        LineageBridgeError: A file did not arrive. Those before it did, and uploading again replaces them.
    """
    landed = []
    for path in (*files, manifest):
        if not path.is_file():
            raise LineageBridgeError(
                f"{path} is not there, so the extract was not uploaded.",
                hint="Extract again; leave the files in output_path until they were uploaded.",
            )
        landed.append(landing.put(path, path.name))
        progress(f"Uploaded {landed[-1].url}")
    return landed
