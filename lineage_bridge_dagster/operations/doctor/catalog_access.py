"""The catalogs of Iceberg tables: whether each responds, has the configured namespaces and accepts writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from uuid import UUID

from lineage_bridge_dagster.catalogs.errors import AccessDeniedError, CallError, ConflictError
from lineage_bridge_dagster.catalogs.iceberg.table_errors import translate
from lineage_bridge_dagster.catalogs.iceberg.table_reading import list_inner
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import KEY_VARIABLES, TABLEFLOW
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.operations.doctor.aws_places import RUN_DISCOVERY
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, skipped, warning
from lineage_bridge_dagster.text import did_you_mean, first_few, plural

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_CONCURRENCY = 8
#: The most namespaces of a catalog in each of which one table is loaded.
_MAX_NAMESPACES = 5
#: No table has this UUID, so a commit that requires it is rejected even if the caller may commit.
_NO_TABLE = UUID(int=0)
_NO_CREDENTIALS = "without credentials"
_BLIND_SPOT = "If Lake Formation governs the catalog, it also hides whatever it does not grant DESCRIBE on."


def reach(context: Context) -> Iterator[Finding]:
    """Whether each catalog accepts the signature or token, and has the configured namespaces."""
    catalogs = context.catalogs()
    with ThreadPoolExecutor(_CONCURRENCY, thread_name_prefix="doctor-catalogs") as pool:
        for found in pool.map(lambda settings: list(_reach(context, settings)), catalogs.values()):
            yield from found
    for name in context.unplaced():
        yield skipped(
            f"Looked for the Tableflow catalogs that {name} in the settings expands to.",
            "There is no discovery that tells in which environments and regions Tableflow has tables.",
            RUN_DISCOVERY,
        )


def _reach(context: Context, settings: CatalogSettings) -> Iterator[Finding]:
    if is_own_glue(context, settings):
        yield ok(
            f"Looked at catalog {settings.name}.", "It is the Glue catalog that the check glue.read covers."
        )
        return
    how = _how(context.catalogs(), settings)
    tried = f"Opened catalog {settings.name} {how}."
    try:
        catalog = context.catalog(settings.name)
        namespaces = [".".join(name) for name in catalog.list_namespaces()]
        parents = {tuple(each.split(".")[:-1]) for each in settings.namespaces if "." in each}
        namespaces += [".".join(name) for name in list_inner(catalog, parents).names]
    except LineageBridgeError as error:
        yield failed(tried, error.message, _remedy(error, settings, how))
        return
    except ImportError as error:
        yield warning(
            tried,
            f"PyIceberg has no client for this type of catalog here: {error}",
            "Install what the message names; Spark does not need it.",
        )
        return
    except Exception as error:
        found = translate(error, action="Listing", where=f"the catalog {settings.name}")
        yield failed(tried, found.message, found.hint)
        return
    yield ok(tried, f"Accepted; it has {plural(len(namespaces), 'namespace')}.")
    yield from _namespaces(settings, namespaces)
    for name in [*settings.namespaces, *namespaces][:_MAX_NAMESPACES]:
        if name in namespaces:
            yield from _first_table(catalog, settings, name)


def _remedy(error: LineageBridgeError, settings: CatalogSettings, how: str) -> str:
    if settings.type == TABLEFLOW and "invalid_client" in error.message:
        return f"Correct {KEY_VARIABLES}: a key for Tableflow of this environment, not a Cloud key."
    cause = error.__cause__
    if how.endswith(_NO_CREDENTIALS) and isinstance(cause, Exception):
        found = translate(cause, action="Opening", where=settings.name)
        if isinstance(found, AccessDeniedError):
            return f"Set {settings.credential_variable} to id:secret."
    return error.hint


def _namespaces(settings: CatalogSettings, found: Sequence[str]) -> Iterator[Finding]:
    # Only top-level namespaces are listed, so an absent nested one is not necessarily missing.
    missing = [name for name in settings.namespaces if name not in found and "." not in name]
    for name in missing:
        known = (
            f"It has {first_few(sorted(found), 5)}." if found else "It has none that this identity may see."
        )
        yield failed(
            f"Looked for the namespace {name} in catalog {settings.name}.",
            f"It is not there. {known}",
            f"{did_you_mean(name, found)}Correct namespaces of the catalog (ICEBERG_NAMESPACE for s3tables), "
            f"or create it. {_BLIND_SPOT}",
        )


def _first_table(catalog: Catalog, settings: CatalogSettings, namespace: str) -> Iterator[Finding]:
    """Load one table, because a grant on the namespace does not cover its tables."""
    tried = f"Loaded the first table of {settings.name}.{namespace}."
    try:
        name = next(iter(catalog.list_tables(tuple(namespace.split(".")))), None)
        if name is None:
            return
        catalog.load_table(name)
    except Exception as error:
        found = translate(error, action="Loading", where=f"a table of {settings.name}.{namespace}")
        yield failed(tried, found.message, found.hint)
    else:
        yield ok(tried, f"{'.'.join(name)} is readable.")


def writes(context: Context) -> Iterator[Finding]:
    """Whether each REST catalog accepts writes, and is read-only in the settings if it does not.

    The attempted commit changes nothing, and requires a UUID that no table has.
    """
    catalogs = [each for each in context.catalogs().values() if each.speaks_rest]
    if not catalogs:
        yield skipped("Tested whether REST catalogs accept commits.", "There is no REST catalog.")
    for settings in catalogs:
        yield _writes(context, settings)


def _writes(context: Context, settings: CatalogSettings) -> Finding:
    tried = f"Sent catalog {settings.name} a commit that changes nothing and is always refused."
    try:
        table = _any_table(context.catalog(settings.name))
    except Exception:
        return skipped(tried, "Its tables cannot be read.", "See the check catalogs.reach.")
    if table is None:
        return skipped(tried, "It has no table to test this with.")
    refusal = _commit_nothing(table)
    name = ".".join(table.name())
    if isinstance(refusal, ConflictError | None):
        if settings.read_only:
            return ok(tried, f"It would accept commits to {name}; read_only prevents them.")
        return ok(tried, f"It accepts commits to {name}: it answered that the table has another UUID.")
    if not isinstance(refusal, AccessDeniedError):
        return warning(tried, f"Not verified: {refusal.message}", refusal.hint)
    if settings.read_only:
        return ok(tried, "It accepts no writes, and is read_only in the settings.")
    return failed(
        tried,
        f"It rejects commits to {name}: {refusal.message}",
        f"Set read_only: true for catalog {settings.name}, so that writes are refused before Spark starts, "
        "or allow writes there (glue:UpdateTable in IAM, and ALTER and INSERT in Lake Formation).",
    )


def _any_table(catalog: Catalog) -> Table | None:
    for namespace in catalog.list_namespaces()[:_MAX_NAMESPACES]:
        for name in catalog.list_tables(namespace)[:1]:
            return catalog.load_table(name)
    return None


def _commit_nothing(table: Table) -> CallError | None:
    from pyiceberg.table.update import AssertTableUUID

    try:
        table.catalog.commit_table(table, (AssertTableUUID(uuid=_NO_TABLE),), ())
    except Exception as error:
        return translate(error, action="Committing to", where=".".join(table.name()))
    return None


def is_own_glue(context: Context, settings: CatalogSettings) -> bool:
    """Whether a catalog is the Glue catalog of the configured account, region and identity."""
    aws = context.aws
    return settings.type == "glue" and all(
        getattr(settings, name) in (None, getattr(aws, name))
        for name in ("catalog_id", "region", "profile", "role_arn")
    )


def _how(catalogs: Catalogs, settings: CatalogSettings) -> str:
    """Where a catalog is and which credentials it gets, as a phrase without secrets."""
    where = f"at {_without_user(settings.uri)}" if settings.uri else f"of type {settings.type}"
    if settings.warehouse:
        where += f", warehouse {settings.warehouse}"
    if settings.signing_name:
        return f"{where}, signed for {settings.signing_name} in {settings.signing_region}"
    if not settings.speaks_rest:
        return where
    if settings.type == TABLEFLOW:
        return f"{where}, with the Tableflow API key"
    try:
        given: Mapping[str, str] = catalogs.pyiceberg_properties(settings.name)
    except ConfigurationError:
        return where
    if "token" in given:
        return f"{where}, with the token in {settings.token_variable}"
    if "credential" in given:
        return f"{where}, with the client credentials in {settings.credential_variable}"
    return f"{where}, {_NO_CREDENTIALS}"


def _without_user(uri: str) -> str:
    return re.sub(r"//[^/@]*@", "//", uri)
