"""Catalogs of Iceberg tables through PyIceberg, which needs no JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.catalogs.iceberg.table_errors import hint_of
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TABLEFLOW
from lineage_bridge_dagster.config.aws import aws_session
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.errors import LineageBridgeError, is_interruption

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

#: Attempts to connect to a REST catalog, where PyIceberg makes ten.
_CONNECTS = 2


class CatalogError(LineageBridgeError):
    """A catalog cannot be reached, or refuses the caller."""


def open_catalog(catalogs: Catalogs, name: str) -> Catalog:
    """Open a catalog in PyIceberg. A REST catalog is asked for its configuration; others are not called.

    The identity is the one that all AWS clients here use. Credentials of a `role_arn` or a `profile` renew
    themselves where they sign requests, but not where they read and write files of tables: there they are
    valid for an hour with most roles, unless the catalog vends others: open the catalog again for each run.

    Raises:
        ConfigurationError: there is no such catalog, a secret is missing, or no AWS region is set.
        CatalogError: the catalog cannot be reached, or refuses the caller.
    """
    settings = catalogs[name]
    properties: dict[str, Any] = {**catalogs.pyiceberg_properties(name)}
    if (settings.type == "glue" or settings.speaks_rest) and (settings.profile or settings.role_arn):
        properties |= _identity(settings)
    with catalog_errors(name, tableflow=settings.type == TABLEFLOW):
        from pyiceberg.catalog import load_catalog

        from lineage_bridge_dagster.catalogs.iceberg.guarded import GuardedRestCatalog, guarded

        if settings.speaks_rest:
            return GuardedRestCatalog(name, **{"rest.sigv4.max-retries": str(_CONNECTS), **properties})
        return guarded(load_catalog(name, **properties))


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
    # A ValueError means that something other than a catalog answered, such as a proxy's page.
    except (RESTError, RequestException, BotoCoreError, ClientError, ValueError) as error:
        text = (str(error) or type(error).__name__).rstrip(".")
        raise CatalogError(
            f"The catalog {name!r} did not answer: {text}.", hint=hint_of(text, tableflow=tableflow)
        ) from error
    except BaseException as error:
        if isinstance(error, Exception) or is_interruption(error):
            raise
        raise CatalogError(
            f"The catalog {name!r} could not be asked: {type(error).__name__} {error}",
            hint="Correct the classes that properties of the catalog name.",
        ) from error


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
