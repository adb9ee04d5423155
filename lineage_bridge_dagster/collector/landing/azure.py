"""A landing place in Azure Blob Storage, with a SAS token from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from lineage_bridge_dagster.collector.landing.landed import Landed
from lineage_bridge_dagster.collector.settings import LandingSettings
from lineage_bridge_dagster.collector.variables import LANDING_SAS
from lineage_bridge_dagster.config.addresses import is_loopback
from lineage_bridge_dagster.config.secret_logs import hide_secrets_in_logs
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.extras import needs

if TYPE_CHECKING:
    from azure.core.exceptions import AzureError

#: Uploads of more bytes than this are cut into blocks of the same size.
_BLOCK_BYTES = 8 * 1024 * 1024
_TIMEOUT_SECONDS = 60


class AzureLanding:
    """A prefix of a container. Azure shows a blob only when all of its blocks are committed.

    Raises:
        ConfigurationError: The URL has no container or holds a token, or no token is set.
    """

    def __init__(self, settings: LandingSettings) -> None:
        with needs("azure", "An upload to Azure Blob Storage"):
            from azure.storage.blob import ContainerClient
        hide_secrets_in_logs()
        parts = urlsplit(settings.url)
        if parts.query:
            raise ConfigurationError(
                "The URL of the landing place holds a token.",
                hint=f"Write the URL without what follows the question mark, and that in {LANDING_SAS}.",
            )
        local = is_loopback(parts.hostname or "")
        if parts.scheme != "https" and not local:
            raise ConfigurationError(
                "The SAS token is not sent over plain HTTP.", hint="Write https:// in the landing place."
            )
        if not settings.sas:
            raise ConfigurationError(
                "No SAS token is set for the landing place.",
                hint=f"Set {LANDING_SAS} to a token with the permissions create and write.",
            )
        # An emulator has the account as the first part of the path.
        segments = [part for part in parts.path.split("/") if part]
        depth = 2 if local else 1
        if len(segments) < depth:
            raise ConfigurationError(
                "The landing place has no container.",
                hint="Write https://ACCOUNT.blob.core.windows.net/CONTAINER/prefix.",
            )
        self._prefix = "/".join(segments[depth:])
        self._url = f"{parts.scheme}://{parts.netloc}/{'/'.join(segments[:depth])}"
        self._container = ContainerClient.from_container_url(
            self._url,
            credential=settings.sas.lstrip("?"),
            max_single_put_size=_BLOCK_BYTES,
            max_block_size=_BLOCK_BYTES,
            connection_timeout=10,
            read_timeout=_TIMEOUT_SECONDS,
        )

    def put(self, path: Path, name: str) -> Landed:
        """Upload in blocks, each with a checksum that Azure verifies; failed requests are tried again."""
        from azure.core.exceptions import AzureError

        blob = f"{self._prefix}/{name}" if self._prefix else name
        url = f"{self._url}/{quote(blob)}"
        try:
            with path.open("rb") as stream:
                self._container.upload_blob(
                    blob, stream, length=path.stat().st_size, overwrite=True, validate_content=True
                )
        except AzureError as error:
            raise LineageBridgeError(
                f"{name} did not arrive at {url}: {_reason(error)}", hint=_hint(error)
            ) from error
        return Landed(name, url, path.stat().st_size)


def _reason(error: AzureError) -> str:
    """The service's code, or the kind of failure: messages may quote the URL with the token."""
    code = getattr(error, "error_code", None)
    status = getattr(error, "status_code", None)
    return f"{getattr(code, 'value', code) or type(error).__name__}" + (f" ({status})" if status else "")


def _hint(error: AzureError) -> str:
    status = getattr(error, "status_code", None)
    if status in (401, 403):
        return f"Set {LANDING_SAS} to a token that has not expired, with the permissions create and write."
    if status == 404:
        return "Correct the container in the landing place, or create it: the collector creates none."
    return "Upload again; nothing under the files' names is partial."
