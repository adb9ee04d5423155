"""Catalogs of Iceberg tables through PyIceberg, which needs no JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.config.aws import aws_session
from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.config.settings import AwsSettings
from lineage_bridge_dagster.config.tableflow_catalog import TABLEFLOW
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg.catalog_errors import hint_of

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from requests import Response

#: Seconds to connect, and to wait for an answer. PyIceberg itself would wait for ever.
_TIMEOUT = (5, 60)
#: Properties with addresses that a key or a token is sent to.
_ADDRESSES = ("uri", "oauth2-server-uri")
#: Attempts to connect to a REST catalog, where PyIceberg makes ten.
_CONNECTS = 2


class CatalogError(LineageBridgeError):
    """A catalog cannot be reached, or refuses the caller."""


def open_catalog(catalogs: Catalogs, name: str) -> Catalog:
    """Open a catalog in PyIceberg. A REST catalog is asked for its configuration, others for nothing.

    The identity is that of all AWS clients here. The credentials of a `role_arn` or a `profile` sign requests
    for as long as they are renewed, but read and write files of tables for as long as they are valid (an hour
    for most roles), unless the catalog vends others: open the catalog again for each run.

    Raises:
        ConfigurationError: there is no such catalog, a secret is missing, or no AWS region is set.
        CatalogError: the catalog cannot be reached, or refuses the caller.
    """
    settings = catalogs[name]
    properties: dict[str, Any] = {**catalogs.pyiceberg_properties(name)}
    if (settings.type == "glue" or settings.speaks_rest) and (settings.profile or settings.role_arn):
        properties |= _identity(settings)
    with catalog_errors(name, tableflow=settings.type == TABLEFLOW):
        if settings.speaks_rest:
            return _rest_catalog(name, properties)
        from pyiceberg.catalog import load_catalog

        return load_catalog(name, **properties)


@contextmanager
def catalog_errors(name: str, *, tableflow: bool = False) -> Iterator[None]:
    """Raise a `CatalogError` for a call of a catalog that did not get through.

    What a catalog answers about its tables (`NoSuchTableError`, `CommitFailedException`) passes, and so does
    `CommitStateUnknownException`.
    """
    from pyiceberg.exceptions import CommitStateUnknownException, RESTError
    from requests import RequestException

    try:
        yield
    except CommitStateUnknownException:
        raise
    # A ValueError is of an answer that is not a catalog's, such as a proxy's page.
    except (RESTError, RequestException, BotoCoreError, ClientError, ValueError) as error:
        text = str(error) or type(error).__name__
        raise CatalogError(
            f"The catalog {name!r} did not answer: {text}", hint=hint_of(text, tableflow=tableflow)
        ) from error


def _rest_catalog(name: str, properties: dict[str, Any]) -> Catalog:
    from pyiceberg.catalog.rest import RestCatalog
    from requests import Session

    class GuardedRestCatalog(RestCatalog):
        """With a timeout, for which PyIceberg has no setting, and a key that stays with its host."""

        def _config_headers(self, session: Session) -> None:
            # The first call for each session: the token is asked for before it is complete.
            super()._config_headers(session)
            session.request = partial(session.request, timeout=_TIMEOUT)  # type: ignore[method-assign]
            redirect = session.get_redirect_target

            def on_the_same_host(response: Response) -> str | None:
                target: str | None = redirect(response)
                if target:
                    _same_host(response.url, urljoin(response.url, target))
                return target

            session.get_redirect_target = on_the_same_host  # type: ignore[method-assign, assignment]

        def _fetch_config(self) -> None:
            given = {key: self.properties[key] for key in _ADDRESSES if key in self.properties}
            super()._fetch_config()
            for key, address in given.items():
                _same_host(address, self.properties[key])

    return GuardedRestCatalog(name, **{"rest.sigv4.max-retries": str(_CONNECTS), **properties})


def _same_host(url: str, target: str) -> None:
    """Raise an error unless two addresses are of one host, with the same encryption or more."""
    from requests.exceptions import InvalidURL

    at, to = urlsplit(url), urlsplit(target)
    if at.netloc.lower() != to.netloc.lower() or (at.scheme == "https") > (to.scheme == "https"):
        raise InvalidURL(
            f"{at.netloc} sends clients to another host, {to.scheme}://{to.netloc}: nothing was sent"
        )


def _identity(settings: CatalogSettings) -> dict[str, Any]:
    """The credentials of a profile or a role: a session that signs, and keys for the files of tables."""
    session = aws_session(
        AwsSettings(region=settings.region, profile=settings.profile, role_arn=settings.role_arn)
    )
    found: dict[str, Any] = {"botocore-session": session._session}
    with catalog_errors(settings.name):
        if (credentials := session.get_credentials()) is not None:
            keys = credentials.get_frozen_credentials()
            found |= {
                "s3.access-key-id": keys.access_key,
                "s3.secret-access-key": keys.secret_key,
                **({"s3.session-token": keys.token} if keys.token else {}),
            }
    return found
