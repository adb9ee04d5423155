"""Reads the watched lists from Confluent, Glue and REST catalogs, and puts them into the last discovery."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lineage_bridge_dagster.automation.iceberg_client import IcebergClient
from lineage_bridge_dagster.automation.tick import Update
from lineage_bridge_dagster.automation.watched_lists import (
    GLUE,
    INTEGRATIONS,
    TABLEFLOW,
    ListScope,
    NamedTables,
)
from lineage_bridge_dagster.lineage.coverage import ICEBERG
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.settings import Settings

if TYPE_CHECKING:
    import httpx

    from lineage_bridge_dagster.catalogs.errors import CallError
    from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
    from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
    from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable, Identifier
    from lineage_bridge_dagster.confluent.api.session import ConfluentSession

#: A tick does not wait longer than this for a list; the next one tries again.
_TIMEOUT_SECONDS = 8.0
_ATTEMPTS = 2
#: Tables of a database that a call asks for by name if it may not list them.
_NAMES_A_CALL = 50
#: After this many refusals, and no answer, no other table is asked for.
_MAX_REFUSALS = 5


class ListClient:
    """Reads lists with clients that it creates on first use and keeps from tick to tick.

    Args:
        settings: read for every list, so that a changed key is used at once.
        transport: replaces the HTTP transport of the Confluent client.
    """

    def __init__(
        self, settings: Callable[[], Settings], *, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._settings = settings
        self._transport = transport
        self._client_settings: Settings | None = None
        self._session: ConfluentSession | None = None
        self._glue: GlueReader | None = None
        self._iceberg: IcebergClient | None = None
        #: By database: the tables found by name, and where the next call goes on.
        self._found: dict[str, set[str]] = {}
        self._next_name: dict[str, int] = {}

    def __call__(self, scope: ListScope) -> Iterable[str]:
        """Raises:
        LineageBridgeError: the list could not be read.
        """
        settings = self._current()
        if scope.api == TABLEFLOW:
            return self._topics(settings, scope)
        if scope.api == INTEGRATIONS:
            return self._integrations(settings, scope)
        if scope.api == GLUE:
            with self._new_keys_next_time():
                return self._tables(settings, scope)
        if scope.api == ICEBERG:
            return self._catalogs_of(settings).names(scope.place, scope.tables)
        return ()

    def page(self, database: str, token: str | None) -> tuple[Sequence[GlueTable], str | None]:
        """Read a page of whole tables, and the token of the next one; None after the last.

        Raises:
            LineageBridgeError: the page could not be read.
        """
        with self._new_keys_next_time():
            return self._glue_reader(self._current()).page(database, token)

    @contextmanager
    def _new_keys_next_time(self) -> Iterator[None]:
        """Drop the client whose keys AWS refuses: a new one reads them again, from files too."""
        from lineage_bridge_dagster.catalogs.errors import CredentialsError

        try:
            yield
        except CredentialsError:
            self._glue = None
            raise

    def _current(self) -> Settings:
        """The settings in force."""
        settings = self._settings()
        if settings != self._client_settings:
            # A key or an endpoint has changed: the clients that use the old one are dropped.
            if self._session is not None:
                self._session.close()
            self._session = None
            self._client_settings, self._tableflow, self._glue = settings, None, None
            self._iceberg = None
        return settings

    def tables(
        self, catalog: str, names: Sequence[Identifier]
    ) -> Sequence[tuple[Identifier, IcebergTable | CallError]]:
        """Load tables of a REST catalog; an error is returned in place of a table that could not be loaded.

        Raises:
            LineageBridgeError: the catalog could not be opened.
        """
        return self._catalogs_of(self._current()).tables(catalog, names)

    def _catalogs_of(self, settings: Settings) -> IcebergClient:
        if self._iceberg is None:
            self._iceberg = IcebergClient(settings)
        return self._iceberg

    def _glue_reader(self, settings: Settings) -> GlueReader:
        from lineage_bridge_dagster.catalogs.glue.client import glue_client
        from lineage_bridge_dagster.catalogs.glue.reader import GlueReader

        if self._glue is None:
            self._glue = GlueReader(glue_client(settings.aws))
        return self._glue

    def _confluent(self, settings: Settings) -> ConfluentSession:
        if self._session is None:
            from lineage_bridge_dagster.confluent.api.session import ConfluentSession

            quick = {
                "timeout_seconds": min(_TIMEOUT_SECONDS, settings.confluent.timeout_seconds),
                "max_attempts": min(_ATTEMPTS, settings.confluent.max_attempts),
            }
            self._session = ConfluentSession(
                settings.confluent.model_copy(update=quick),
                self._transport,
                renew=lambda: settings.read_again().confluent,
            )
        return self._session

    def _topics(self, settings: Settings, scope: ListScope) -> Iterable[str]:
        from lineage_bridge_dagster.confluent.api.tableflow import TableflowTopic, list_tableflow

        session = self._confluent(settings)
        for topic in list_tableflow(session, TableflowTopic, scope.environment, scope.place):
            syncs = sorted(sync.sync_status for sync in topic.status.catalog_sync_statuses)
            yield f"{topic.display_name}\t{topic.phase} {topic.spec.suspended} {' '.join(syncs)}"

    def _integrations(self, settings: Settings, scope: ListScope) -> Iterable[str]:
        from lineage_bridge_dagster.confluent.api.tableflow import CatalogIntegration, list_tableflow

        session = self._confluent(settings)
        for integration in list_tableflow(session, CatalogIntegration, scope.environment, scope.place):
            state = f"{integration.spec.suspended} {integration.phase}"
            yield f"{integration.id}\t{integration.custom_database} {state}"

    def _tables(self, settings: Settings, scope: ListScope) -> Iterable[str]:
        from lineage_bridge_dagster.catalogs.errors import AccessDeniedError, NotFoundError

        glue = self._glue_reader(settings)
        try:
            # Names only: a full table is up to 100 kB, and the list is read every few seconds.
            return list(glue.names(scope.place))
        except NotFoundError:
            # The database does not exist yet.
            return ()
        except AccessDeniedError as error:
            if scope.tables is None or not error.for_this_call:
                raise
            return self._named_tables(glue, scope.place, scope.tables(), error)

    def _named_tables(
        self, glue: GlueReader, database: str, tables: NamedTables, denied: CallError
    ) -> Iterable[str]:
        """The tables that the state has, and those of the others that are there when asked for by name.

        A call asks for a few, and the next call for the following ones. What was found stays in the list.
        """
        from lineage_bridge_dagster.catalogs.errors import AccessDeniedError

        found = self._found.setdefault(database, set())
        missing = [name for name in tables.missing if name not in found]
        start = self._next_name.get(database, 0) if len(missing) > _NAMES_A_CALL else 0
        asked = [*missing[start:], *missing[:start]][:_NAMES_A_CALL]
        refused = 0
        for number, name in enumerate(asked, start=1):
            try:
                if glue.table(database, name) is not None:
                    found.add(name)
            except AccessDeniedError:
                refused += 1
                if refused == number >= _MAX_REFUSALS:
                    raise denied from None
        if asked and refused == len(asked):
            raise denied
        self._next_name[database] = (start + len(asked)) % max(1, len(missing))
        return tables.present | found.intersection(tables.missing)


def list_updates(settings: Callable[[], Settings]) -> Update:
    """What a tick of the sensor calls when lists have changed. Settings are read for each call."""

    def update(last: Discovery, scopes: Sequence[ListScope]) -> Discovery | None:
        # Imported here: loading needs no API clients.
        from lineage_bridge_dagster.discovery.update import update

        if any(scope.api not in (TABLEFLOW, INTEGRATIONS, GLUE) for scope in scopes):
            return None
        return update(
            settings(),
            last,
            clusters={(scope.environment, scope.place) for scope in scopes if scope.api != GLUE},
            databases={scope.place for scope in scopes if scope.api == GLUE},
        )

    return update
