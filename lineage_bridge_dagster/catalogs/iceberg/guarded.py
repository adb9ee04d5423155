"""PyIceberg's catalogs, in which neither a server nor a table names code, hosts or local files.

PyIceberg loads the classes that properties name, whoever wrote them, and hands the whole of a catalog's
properties to the class that reads files. So each catalog here is a subclass of PyIceberg's with `Guarded`
first, through which every table is loaded, created and committed to. `remote_properties` has the rules.
"""

from __future__ import annotations

import copy
import json
import logging
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog, TableResponse
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import StagedTable, Table
from pyiceberg.table.locations import LocationProvider, load_location_provider
from pyiceberg.typedef import EMPTY_DICT, Properties
from requests.exceptions import InvalidJSONError, InvalidURL, RequestException, Timeout

from lineage_bridge_dagster.catalogs.calls import MAX_PAGES
from lineage_bridge_dagster.catalogs.iceberg import remote_properties
from lineage_bridge_dagster.catalogs.iceberg.remote_properties import code_in, without_code
from lineage_bridge_dagster.config.request_counts import TIMEOUT, UNREACHABLE, current_counts
from lineage_bridge_dagster.json_text import json_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from uuid import UUID

    from pyarrow.fs import FileSystem
    from pyiceberg.table.metadata import TableMetadata
    from requests import Response, Session

#: The name of REST catalogs among the APIs whose requests are counted.
_API = "iceberg_rest"
#: Seconds to connect, and to wait for an answer. PyIceberg itself would wait for ever.
_TIMEOUT = (5, 60)
#: Properties with addresses that a key or a token is sent to.
_ADDRESSES = ("uri", "oauth2-server-uri")
#: Schemes for which PyIceberg prefers another library to PyArrow.
_OTHER_STORES = ("abfs", "abfss", "wasb", "wasbs", "hf")

#: The tokens of the pages that were requested of the list that is being read.
_tokens: ContextVar[set[str]] = ContextVar("tokens")

_log = logging.getLogger(__name__)


class StoredFiles(PyArrowFileIO):
    """Reads and writes object stores alone: no table of a catalog opens a file of this machine or of HDFS."""

    def _initialize_local_fs(self) -> FileSystem:
        if _is_local(str(self.properties.get("warehouse") or "")):
            return super()._initialize_local_fs()
        raise PermissionError(
            "a table of the catalog names a file of this machine; set warehouse of the catalog to a local "
            "folder if its tables are here"
        )

    def _initialize_hdfs_fs(self, scheme: str, netloc: str | None) -> FileSystem:
        if urlsplit(str(self.properties.get("warehouse") or "")).scheme in ("hdfs", "viewfs"):
            return super()._initialize_hdfs_fs(scheme, netloc)
        raise PermissionError("a table of the catalog names a file of a Hadoop cluster")


class OwnMetadata:
    """Deletes a table's own old metadata files, and no other file that its metadata log may list."""

    def __init__(self, io: FileIO, uuid: UUID) -> None:
        self._io = io
        self._uuid = uuid

    def delete(self, location: str) -> None:
        try:
            is_own = FromInputFile.table_metadata(self._io.new_input(location)).table_uuid == self._uuid
        except Exception as error:
            _log.info("%s was not deleted, since it cannot be read as metadata: %s", location, error)
            return
        if is_own:
            self._io.delete(location)
        else:
            _log.warning("%s is in the metadata log of another table, and was not deleted", location)


class GuardedTable(Table):
    """A table whose properties name no code that runs here.

    Attributes:
        left_out: Names of properties, the table's or the server's, that are ignored.
    """

    left_out: tuple[str, ...] = ()

    def location_provider(self) -> LocationProvider:
        metadata = writable(self.metadata, self.catalog)
        return load_location_provider(metadata.location, metadata.properties)


class Guarded(Catalog):
    """What a catalog adds to PyIceberg's own class.

    Attributes:
        own: The properties of our own configuration.
        left_out: Names of properties from the server that are ignored.
    """

    own: Mapping[str, Any]
    left_out: tuple[str, ...] = ()

    def load_table(self, identifier: Any) -> Table:
        return self._guarded(super().load_table(identifier))  # type: ignore[safe-super]

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:  # noqa: ARG002 - a table's own
        return _files({}, self.own, location)

    def _update_and_stage_table(self, current_table: Table | None, *args: Any) -> StagedTable:
        """A commit by a catalog without a server, which keeps the properties that it ignores."""
        kept = {} if current_table is None else _code(current_table.metadata, self.own)
        if current_table is not None and kept:
            current_table = copy.copy(current_table)
            current_table.metadata = writable(current_table.metadata, self)
        staged: StagedTable = super()._update_and_stage_table(current_table, *args)  # type: ignore[misc]
        if kept:
            staged.metadata = _with_properties(staged.metadata, {**kept, **staged.metadata.properties})
        return staged

    def _delete_old_metadata(self, io: FileIO, base: TableMetadata, metadata: TableMetadata) -> None:  # type: ignore[override]
        """Delete the metadata files that a commit took out of the table's log, if they are the table's own.

        PyIceberg deletes whatever the log lists, even files of other tables that our credentials reach.
        """
        own = OwnMetadata(io, base.table_uuid)
        super()._delete_old_metadata(own, base, metadata)  # type: ignore[arg-type]

    def _guarded(self, table: Table, said: tuple[str, ...] = ()) -> Table:
        """The table as one that loads no code."""
        guarded = GuardedTable(
            table._identifier, table.metadata, table.metadata_location, table.io, self, table.config
        )
        guarded.left_out = tuple(sorted({*said, *_code(table.metadata, self.own)}))
        if guarded.left_out:
            _warn(guarded.left_out, f"the table {'.'.join((self.name, *guarded.name()))}")
        return guarded


class GuardedRestCatalog(Guarded, RestCatalog):
    """A REST catalog with a timeout, which PyIceberg cannot set, and whose key goes to its own host alone."""

    def __init__(self, name: str, **properties: Any) -> None:
        self.own = dict(properties)
        self._vended: dict[str, Any] = {}
        self._counts = current_counts()
        super().__init__(name, **properties)

    def load_table(self, identifier: Any) -> Table:
        # `_response_to_table` guards it, whatever call it is the answer to.
        loaded: Table = RestCatalog.load_table(self, identifier)
        return loaded

    def _response_to_table(self, identifier_tuple: tuple[str, ...], table_response: TableResponse) -> Table:
        said, left_out = self._said(table_response)
        return self._guarded(
            Table(
                identifier=identifier_tuple,
                metadata=table_response.metadata,
                metadata_location=table_response.metadata_location or "",
                io=_files(said, self._for_files(), table_response.metadata_location),
                catalog=self,
                config=said,
            ),
            left_out,
        )

    def _response_to_staged_table(
        self, identifier_tuple: tuple[str, ...], table_response: TableResponse
    ) -> StagedTable:
        raise NotImplementedError("Tables are created in one call.")

    def _said(self, response: TableResponse) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The server's properties for a table's files that are accepted, and the names of the others."""
        credential = self._resolve_storage_credentials(
            response.storage_credentials, response.metadata_location
        )
        of_table = {**response.config, **credential}
        said, left_out = remote_properties.allowed({**self._vended, **of_table}, self.own)
        self._leave_out(key for key in left_out if key not in of_table)
        return said, tuple(key for key in left_out if key in of_table)

    def _for_files(self) -> dict[str, Any]:
        return {**self.own, "auth.manager": self._auth_manager}

    def _config_headers(self, session: Session) -> None:
        # The first call for each session: the token is asked for before it is complete.
        super()._config_headers(session)
        session.request = partial(self._request, session.request)  # type: ignore[method-assign]
        redirect = session.get_redirect_target

        def on_the_same_host(response: Response) -> str | None:
            target: str | None = redirect(response)
            if target:
                _same_host(response.url, urljoin(response.url, target))
            return target

        session.get_redirect_target = on_the_same_host  # type: ignore[method-assign, assignment]

    def _request(self, send: Callable[..., Response], *args: Any, **options: Any) -> Response:
        params = options.get("params")
        _check_page(params)
        try:
            response = send(*args, **{"timeout": _TIMEOUT, **options})
        except RequestException as error:
            self._counts.add(_API, TIMEOUT if isinstance(error, Timeout) else UNREACHABLE)
            raise
        self._counts.add(_API, response.status_code)
        if params is not None and response.ok:
            _complete_page(response)
        return response

    def _fetch_config(self) -> None:
        given = {key: self.own[key] for key in _ADDRESSES if key in self.own}
        super()._fetch_config()
        for key, address in given.items():
            _same_host(address, self.properties[key])
        said = {key: value for key, value in self.properties.items() if self.own.get(key) != value}
        if "oauth2-server-uri" not in given:
            # Without one of ours, tokens are got below the uri; no server sends our credentials elsewhere.
            said.pop("oauth2-server-uri", None)
        routing, vended = remote_properties.divided(said)
        heeded, _ = remote_properties.allowed(routing, self.own)
        self.properties = {**self.own, **heeded}
        # For files, which are read table by table: an endpoint's credentials come with the table.
        self._vended = vended
        self._leave_out(remote_properties.allowed(vended, self.own)[1], but=remote_properties.HOSTS)

    def _leave_out(self, keys: Iterable[str], but: Collection[str] = ()) -> None:
        new = {key for key in keys if key not in self.left_out and key not in but}
        if new:
            self.left_out = tuple(sorted({*self.left_out, *new}))
            _warn(new, f"the catalog {self.name}")


def guarded(catalog: Catalog) -> Catalog:
    """An open catalog of any other class of PyIceberg's, guarded: all of its properties are our own."""
    found = type(catalog)
    catalog.__class__ = type(f"Guarded{found.__name__}", (Guarded, found), {"own": dict(catalog.properties)})
    return catalog


def writable(metadata: TableMetadata, catalog: Catalog) -> TableMetadata:
    """The metadata to write a table's files by: without the properties that name code."""
    own = getattr(catalog, "own", EMPTY_DICT)
    if not code_in(metadata.properties, own):
        return metadata
    return _with_properties(metadata, without_code(metadata.properties, own))


def _warn(keys: Iterable[str], where: str) -> None:
    _log.warning(
        "Not heeded, since only our own configuration may say so: %s of %s", ", ".join(sorted(keys)), where
    )


def _files(said: Mapping[str, Any], own: Mapping[str, Any], location: str | None) -> FileIO:
    properties = remote_properties.for_files(own, said)
    scheme = urlsplit(location or "").scheme
    if own.get("py-io-impl"):
        return load_file_io(properties, location)
    if scheme not in _OTHER_STORES:
        return StoredFiles(properties)
    files = load_file_io(properties, location)
    # fsspec has a file system for each scheme.
    systems = getattr(files, "_scheme_to_fs", {})
    for local in ("", "file"):
        systems.pop(local, None)
    return files if systems else StoredFiles(properties)


def _code(metadata: TableMetadata, own: Mapping[str, Any]) -> dict[str, str]:
    return {key: metadata.properties[key] for key in code_in(metadata.properties, own)}


def _with_properties(metadata: TableMetadata, properties: Mapping[str, str]) -> TableMetadata:
    changed: TableMetadata = metadata.model_copy(update={"properties": dict(properties)})
    return changed


def _check_page(params: Mapping[str, str] | None) -> None:
    """Raise an error for a page of a list that does not end; PyIceberg would request pages for ever."""
    if params is None:
        # The request of a token, perhaps between two pages.
        return
    if (token := params.get("pageToken")) is None:
        _tokens.set(set())
        return
    used = _tokens.get()
    if token in used:
        raise InvalidJSONError("the server returned the same page token twice")
    if len(used) == MAX_PAGES:
        raise InvalidJSONError(f"the server returned more than {MAX_PAGES:,} pages")
    used.add(token)


def _complete_page(response: Response) -> None:
    """Have PyIceberg see that a page of a list is not all: it would take what is missing for not there.

    S3 Tables spells the token of the next page as AWS's own APIs do. BigLake names what it could not reach
    (`namespaces.list` in its REST reference).

    Raises:
        InvalidJSONError: the server left something out.
    """
    if not any(member in response.content for member in (b'"nextPageToken"', b'"unreachable"')):
        return
    page = json_of(response.content, dict) or {}
    if page.get("unreachable"):
        raise InvalidJSONError(f"the server could not reach {page['unreachable']}")
    if "nextPageToken" in page:
        response._content = json.dumps({"next-page-token": page["nextPageToken"], **page}).encode()


def _is_local(warehouse: str) -> bool:
    # A REST catalog's warehouse may be just a name.
    return warehouse.startswith(("/", "file:"))


def _same_host(url: str, target: str) -> None:
    """Raise an error unless two addresses are of one host, with the same encryption or more."""
    at, to = urlsplit(url), urlsplit(target)
    if at.netloc.lower() != to.netloc.lower() or (at.scheme == "https") > (to.scheme == "https"):
        raise InvalidURL(
            f"{at.netloc} sends clients to another host, {to.scheme}://{to.netloc}: nothing was sent"
        )
