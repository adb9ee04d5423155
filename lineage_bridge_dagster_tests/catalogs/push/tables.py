"""One Iceberg table behind Glue or behind a REST catalog: what other writers do to it, and our push."""

from __future__ import annotations

import contextlib
import itertools
import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import httpx
import pyarrow as pa
import requests
from botocore.exceptions import ClientError, ReadTimeoutError
from pyiceberg.catalog import Catalog as Iceberg
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table
from pyiceberg.types import StringType
from requests.adapters import HTTPAdapter

from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.embedded.rest.server import S3_TABLES, IcebergRest
from lineage_bridge_dagster.lineage.coverage import ICEBERG, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.description import FIRST_LINE, LAST_LINE
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.push_results import PushReport
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION, complete_coverage, discovery
from lineage_bridge_dagster_tests.catalogs.glue.runs import push_to_glue, push_to_rest
from lineage_bridge_dagster_tests.catalogs.push.lineages import Lineage, node_in_catalog, node_in_glue
from lineage_bridge_dagster_tests.embedded.rest.clients import signed_properties

#: The REST catalog that `ICEBERG_REST_URI` defines.
S3TABLES = "s3tables"

#: Called in place of a write of ours, with the function that sends it.
Interception = Callable[[Callable[[], Any]], Any]


@dataclass(frozen=True)
class Servers:
    """Strict Glue and S3, and the REST catalogs over the same bucket."""

    aws: StrictAws
    rest: IcebergRest
    bucket: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables that define the table bucket as a catalog, with the credentials of its writers."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL_S3": self.aws.endpoint_url,
            "ICEBERG_REST_URI": self.rest.glue_url,
            "ICEBERG_WAREHOUSE": self.rest.warehouse,
        }


@dataclass(frozen=True)
class Observed:
    """A table as its catalog has it.

    Attributes:
        parameters: All Glue parameters, or all Iceberg properties.
        bound_to: What a write of ours must find unchanged: Glue's version, or the table's UUID.
        rest: Everything else that a write may change, as JSON.
    """

    version: str
    bound_to: str
    parameters: Mapping[str, str]
    description: str
    rest: str

    @property
    def ours(self) -> dict[str, str]:
        return {key: value for key, value in self.parameters.items() if key.startswith(PREFIX)}

    @property
    def foreign(self) -> tuple[dict[str, str], str]:
        return {k: v for k, v in self.parameters.items() if not k.startswith(PREFIX)}, self.rest


@dataclass
class Acknowledged:
    """What other writers were told was committed."""

    rows: list[int] = field(default_factory=list)
    snapshots: set[int] = field(default_factory=set)
    properties: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)


def users_text_and_block(description: str) -> tuple[str, str]:
    """What stands above our block, and the block; the test's texts have no line like the block's last one."""
    if not description.endswith(LAST_LINE):
        return description, ""
    start = description.rindex(FIRST_LINE + "\n")
    return description[:start].removesuffix("\n\n"), description[start:]


def rows(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


class PushedTable(ABC):
    """A table, what Iceberg writers do to it by PyIceberg, and our push.

    Attributes:
        timeout: The error of a write of ours without an answer.
    """

    timeout: Exception

    def __init__(self, servers: Servers, writers: Sequence[Iceberg], name: tuple[str, str]) -> None:
        self._folder = f"s3://{servers.bucket}/{name[0]}"
        self._writers = itertools.cycle(writers)
        self._iceberg = writers[0]
        self._numbers = itertools.count(1)
        self.name = name
        self.create()

    @abstractmethod
    def observe(self) -> Observed:
        """The table as its catalog has it."""

    @abstractmethod
    def push(
        self, lineage: Lineage, settings: PushSettings, intercept: Interception | None = None
    ) -> PushReport:
        """Push this lineage to the table. Waits take no time."""

    @abstractmethod
    def change_ours(self, changes: Mapping[str, str | None]) -> None:
        """Change parameters or properties under our prefix, as somebody might; None removes one."""

    def create(self) -> None:
        self.acknowledged = Acknowledged()
        location = f"{self._folder}/{uuid.uuid4().hex}"
        self._iceberg.create_table(self.name, rows().schema, location=location)

    def create_again(self) -> None:
        self._iceberg.drop_table(self.name)
        self.create()

    def load(self) -> Table:
        return self._iceberg.load_table(self.name)

    def append(self) -> None:
        value = next(self._numbers)
        self.insert(value)
        self.acknowledged.rows.append(value)
        self.acknowledged.snapshots.add(self.load().metadata.current_snapshot_id or 0)

    def insert(self, value: int) -> None:
        self._load_to_commit().append(rows(value))

    def set_properties(self, properties: Mapping[str, str]) -> None:
        with self._load_to_commit().transaction() as transaction:
            transaction.set_properties(dict(properties))
        self.acknowledged.properties |= properties

    def add_column(self, comment: str) -> None:
        name = f"c{len(self.acknowledged.columns)}"
        with self._load_to_commit().update_schema() as update:
            update.add_column(name, StringType(), comment)
        self.acknowledged.columns[name] = comment

    def wipe(self) -> None:
        self.change_ours(dict.fromkeys(self.observe().ours))

    def _load_to_commit(self) -> Table:
        return next(self._writers).load_table(self.name)


class GlueTable(PushedTable):
    """A table in strict Glue, whose writers commit by Glue's API and by its Iceberg endpoint in turn."""

    timeout = ReadTimeoutError(endpoint_url="https://glue.example.com")

    def __init__(self, servers: Servers) -> None:
        self.catalog = Catalog(servers.aws)
        #: The highest version of tables of this name that were dropped.
        self._highest = -1
        glue = self.catalog.glue
        with contextlib.suppress(glue.exceptions.AlreadyExistsException):
            glue.create_database(DatabaseInput={"Name": CLUSTER})
        signed = {**signed_properties(servers.rest, servers.aws), "warehouse": servers.aws.account_id}
        keys = {"s3.access-key-id": ACCESS_KEY, "s3.secret-access-key": SECRET_KEY, "s3.region": REGION}
        writers = [
            GlueCatalog("glue", client=glue, **{"s3.endpoint": servers.aws.endpoint_url, **keys}),
            # Behind it is Iceberg's own GlueCatalog, by which Spark commits as well.
            RestCatalog("endpoint", **signed),
        ]
        super().__init__(servers, writers, (CLUSTER, f"orders-{uuid.uuid4().hex[:8]}.v1"))

    def observe(self) -> Observed:
        table = self.catalog.table(self.name[1])
        version, parameters = table.pop("VersionId"), table.pop("Parameters")
        description = table.pop("Description", "")
        table.pop("UpdateTime")
        rest = json.dumps(table, sort_keys=True, default=str)
        return Observed(version, version, parameters, description, rest)

    def push(
        self, lineage: Lineage, settings: PushSettings, intercept: Interception | None = None
    ) -> PushReport:
        client: Any = _Intercepted(self.catalog.glue, intercept)
        graph = lineage.graph(node_in_glue(*self.name))
        return push_to_glue(discovery(graph), client, settings)

    def create_again(self) -> None:
        # Glue's only check is the version, which does not tell two tables apart whose versions are equal.
        self._highest = max(self._highest, int(self.observe().version or 0))
        super().create_again()
        while int(self.observe().version or 0) <= self._highest:
            self.append()

    def change_ours(self, changes: Mapping[str, str | None]) -> None:
        parameters = {**self.catalog.parameters(self.name[1]), **changes}
        kept = {key: value for key, value in parameters.items() if value is not None}
        self.catalog.edit(self.name[1], Parameters=kept)

    def describe(self, text: str) -> None:
        """Replace the description, as in the console, which refuses what is too long."""
        with contextlib.suppress(ClientError):
            self.catalog.edit(self.name[1], Description=text)

    def describe_above(self, text: str) -> None:
        """Replace what is above our block."""
        block = users_text_and_block(self.observe().description)[1]
        self.describe("\n\n".join(filter(None, (text, block))))

    def edit(self, fields: Mapping[str, Any]) -> None:
        """Change other fields; of parameters and of the storage descriptor, only those named."""
        table = self.catalog.table(self.name[1])
        merged = {
            name: {**table.get(name, {}), **value} if isinstance(value, Mapping) else value
            for name, value in fields.items()
        }
        self.catalog.edit(self.name[1], table=table, **merged)


class _Intercepted:
    """A Glue client whose writes are intercepted."""

    def __init__(self, client: Any, intercept: Interception | None) -> None:
        self._client = client
        self._intercept = intercept or (lambda send: send())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def update_table(self, **request: Any) -> Any:
        return self._intercept(lambda: self._client.update_table(**request))


class RestTable(PushedTable):
    """A table of a table bucket, behind Glue's Iceberg endpoint."""

    timeout = requests.ReadTimeout("Read timed out.")

    def __init__(self, servers: Servers) -> None:
        self._backend = servers.rest.backend(S3_TABLES)
        self._catalogs = Settings.from_env(servers.environment).all_catalogs()
        iceberg = RestCatalog(S3TABLES, **signed_properties(servers.rest, servers.aws))
        namespace = f"ns_{uuid.uuid4().hex[:8]}"
        iceberg.create_namespace(namespace)
        super().__init__(servers, [iceberg], (namespace, "orders"))

    def observe(self) -> Observed:
        url = f"{self._backend}/v1/namespaces/{self.name[0]}/tables/{self.name[1]}"
        table = httpx.get(url).raise_for_status().json()
        metadata = table["metadata"]
        properties = metadata.pop("properties", {})
        # Each commit changes these two.
        del metadata["last-updated-ms"], metadata["metadata-log"]
        rest = json.dumps(metadata, sort_keys=True)
        return Observed(table["metadata-location"], metadata["table-uuid"], properties, "", rest)

    def push(
        self, lineage: Lineage, settings: PushSettings, intercept: Interception | None = None
    ) -> PushReport:
        graph = lineage.graph(node_in_catalog(self._catalogs[S3TABLES], *self.name))
        read = ScopeReport(Scope(ICEBERG, "", S3TABLES), Status.COMPLETE)
        found = discovery(graph, complete_coverage(read))
        with _intercepted_commits(self.name[1], intercept):
            return push_to_rest(found, self._catalogs, settings)

    def change_ours(self, changes: Mapping[str, str | None]) -> None:
        with self.load().transaction() as transaction:
            transaction.set_properties({key: value for key, value in changes.items() if value is not None})
            transaction.remove_properties(*(key for key, value in changes.items() if value is None))


@contextlib.contextmanager
def _intercepted_commits(table: str, intercept: Interception | None) -> Iterator[None]:
    """Intercept the requests that commit to the table, but none that is sent meanwhile."""
    send = HTTPAdapter.send
    busy = False

    def intercepted(
        self: HTTPAdapter, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        nonlocal busy
        commits = request.method == "POST" and str(request.url).endswith(f"/tables/{table}")
        if busy or not commits or intercept is None:
            return send(self, request, *args, **kwargs)
        busy = True
        try:
            answer: requests.Response = intercept(lambda: send(self, request, *args, **kwargs))
        finally:
            busy = False
        return answer

    with patch.object(HTTPAdapter, "send", intercepted):
        yield
