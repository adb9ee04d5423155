"""What the checks share: settings, AWS clients, the last discovery, and the secrets to hide.

Each is created once, at its first use by any check; if that fails, it fails for every check that needs it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from botocore.config import Config

from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.config.aws import aws_session
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.config.env_file import file_variables, secret_variables
from lineage_bridge_dagster.config.groups import Given
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.datazone.settings import DataZoneSettings
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.catalog_tables import tableflow_places
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.openlineage.settings import OpenLineageSettings
from lineage_bridge_dagster.operations.doctor.confluent_survey import Survey, bounded, survey
from lineage_bridge_dagster.operations.identity import caller_of, identity_of
from lineage_bridge_dagster.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient
    from pyiceberg.catalog import Catalog

T = TypeVar("T")

#: No service has shorter secrets, and masking shorter texts would garble ordinary words.
_SHORTEST_SECRET = 8
#: Variables that hold secrets but are not part of the settings.
_SECRET_VARIABLES = (
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
)
_CONNECT_TIMEOUT_SECONDS = 5
_READ_TIMEOUT_SECONDS = 15
_ATTEMPTS = 2


class Once(Generic[T]):
    """A value that the first call computes while other threads wait. An error is remembered too."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._value: tuple[T] | None = None
        self._error: Exception | None = None

    def __call__(self) -> T:
        with self._lock:
            if self._error is not None:
                raise self._error
            if self._value is None:
                try:
                    self._value = (self._make(),)
                except Exception as error:
                    self._error = error
                    raise
            return self._value[0]


@dataclass(frozen=True, slots=True)
class StoredDiscovery:
    """A discovery, with a phrase that says where it was found."""

    discovery: Discovery
    source: str


class Context:
    """What the checks need; thread-safe.

    Args:
        stored: finds the last discovery; returns None if there is none.
        variables: by default the environment's and those of a `.env` file.
        clients: replaces AWS clients, by service.
        given: fields by group that take precedence over the variables.
    """

    def __init__(
        self,
        stored: Callable[[], StoredDiscovery | None] = lambda: None,
        *,
        variables: Mapping[str, str] | None = None,
        clients: Mapping[str, Any] | None = None,
        given: Given | None = None,
    ) -> None:
        self._given = given
        self._explicit = variables is not None
        self.dotenv: Mapping[str, str] = {} if self._explicit else file_variables()
        #: The variables in the folder of secrets. Raises `ConfigurationError` if it cannot be read.
        self.secret_files = Once(lambda: {} if self._explicit else secret_variables(self.dotenv))
        self.variables: Mapping[str, str] = (
            dict(variables)
            if variables is not None
            else {**self.dotenv, **self._readable_secrets(), **os.environ}
        )
        self._clients = dict(clients or {})
        #: Every catalog of Iceberg tables, and those of Tableflow in the places that the last discovery
        #: found. Raises `ConfigurationError`.
        self.catalogs = Once(lambda: self._settings("catalogs").all_catalogs(self.tableflow_places()))
        self._opened: dict[str, Once[Catalog]] = {}
        #: Where the credentials come from. Raises `ConfigurationError` if they can't be read.
        self.identity = Once(lambda: identity_of(self.aws, self.variables, self.dotenv))
        #: The caller as AWS knows it. Raises botocore's errors and `ConfigurationError`.
        self.caller = Once(lambda: caller_of(self.aws, self.client("sts")))
        self.stored = Once(stored)
        #: What in Confluent needs a key. Raises `ConfluentError` and `ConfigurationError`.
        self.survey = Once(self._survey)

    def _survey(self) -> Survey:
        with ConfluentSession(bounded(self.confluent)) as session:
            return survey(session)

    def _readable_secrets(self) -> Mapping[str, str]:
        try:
            return self.secret_files()
        except ConfigurationError:
            # `machine.secret_files` tells why.
            return {}

    # Each raises `ConfigurationError` for a malformed setting.

    @cached_property
    def confluent(self) -> ConfluentSettings:
        return self._settings("confluent").confluent

    @cached_property
    def aws(self) -> AwsSettings:
        return self._settings("aws").aws

    @cached_property
    def push(self) -> PushSettings:
        return self._settings("push").push

    @cached_property
    def openlineage(self) -> OpenLineageSettings:
        return self._settings("openlineage").openlineage

    @cached_property
    def datazone(self) -> DataZoneSettings:
        return self._settings("datazone").datazone

    @property
    def region(self) -> str:
        """The region of our AWS clients.

        Raises:
            ConfigurationError: there is none.
        """
        return str(aws_session(self.aws).region_name)

    def client(self, service: str) -> Any:
        """A client with our identity and region, and short timeouts.

        Raises:
            ConfigurationError: no region, or an unknown profile.
        """
        if service in self._clients:
            return self._clients[service]
        config = Config(
            connect_timeout=_CONNECT_TIMEOUT_SECONDS,
            read_timeout=_READ_TIMEOUT_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        )
        session: Any = aws_session(self.aws)
        return session.client(service, config=config)

    def glue(self) -> GlueClient:
        """The Glue client that pushes use."""
        if "glue" in self._clients:
            client: GlueClient = self._clients["glue"]
            return client
        from lineage_bridge_dagster.catalogs.glue.client import glue_client

        return glue_client(self.aws)

    def catalog(self, name: str) -> Catalog:
        """A PyIceberg catalog, opened once.

        Raises:
            ConfigurationError: there is none of this name, or a secret is missing.
            CatalogError: it cannot be reached, or refuses us.
        """
        from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog

        return self._opened.setdefault(name, Once(lambda: open_catalog(self.catalogs(), name)))()

    def tables(self) -> Iterator[GlueTableNode]:
        """The Glue tables of the last discovery; none without one."""
        if (stored := self.stored()) is not None:
            yield from stored.discovery.graph.of_kind(GlueTableNode)

    def tableflow_places(self) -> list[TableflowPlace]:
        """The environments and regions in which Tableflow has tables; none without a discovery."""
        found: list[TableflowPlace] = []
        # Another check reports a discovery that cannot be read.
        with contextlib.suppress(Exception):
            if (stored := self.stored()) is not None:
                found = [TableflowPlace(*place) for place in tableflow_places(stored.discovery.graph)]
        return found

    def unplaced(self) -> list[str]:
        """The Tableflow catalog entries that expand to no catalog, because no place is known."""
        named = self._settings("catalogs").catalogs.named.values()
        entries = [each for each in named if not each.is_one_catalog]
        return [
            each.name
            for each in entries
            if not any(each.for_tableflow(place) for place in self.tableflow_places())
        ]

    def hide(self, text: str) -> str:
        """The text with every known secret replaced."""
        for secret in self._secrets():
            text = text.replace(secret, "****")
        return text

    def _secrets(self) -> list[str]:
        values = [self.variables.get(name, "") for name in _SECRET_VARIABLES]
        values += [text for name, text in self.variables.items() if "API_SECRET" in name]
        # Another check reports malformed settings.
        with contextlib.suppress(Exception):
            values += [one.secret.get_secret_value() for one in self.confluent.credentials.values()]
        with contextlib.suppress(Exception):
            for catalog in self.catalogs().values():
                values.append(self.variables.get(catalog.token_variable, ""))
                values.append(self.variables.get(catalog.credential_variable, "").partition(":")[2])
        return sorted({value for value in values if len(value) >= _SHORTEST_SECRET}, key=len, reverse=True)

    def _settings(self, group: str) -> Settings:
        variables = self.variables if self._explicit else None
        return Settings.from_env(variables, groups=[group], given=self._given)
