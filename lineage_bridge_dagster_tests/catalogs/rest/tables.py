"""Tables of a table bucket behind Glue's Iceberg endpoint, and faults of the connection to it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import requests
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError
from requests.adapters import BaseAdapter

from lineage_bridge_dagster.catalogs.rest.rest_catalogs import IcebergTarget, RestCatalogs
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.catalogs.table_push import push_table
from lineage_bridge_dagster.embedded.aws.server import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster.lineage.chains import Chain, chain_of
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.push_results import TableResult
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION, add_table
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock, no_sleep
from lineage_bridge_dagster_tests.embedded.rest.clients import signed_properties

#: Bucket names are unique across all servers of a process.
BUCKET = "table-bucket-of-targets"
SCHEMA = pa.schema([("id", pa.int64())])
FOREIGN = {"owner": "orders-team", "lineage": "theirs"}

Name = tuple[str, str]


def rows(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


@dataclass(frozen=True)
class Bucket:
    """A table bucket's catalog."""

    aws: StrictAws
    rest: IcebergRest

    @property
    def environment(self) -> dict[str, str]:
        """The variables that point commands at it."""
        return {
            "AWS_ENDPOINT_URL": self.aws.endpoint_url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "LINEAGE_BRIDGE_AWS_REGION": REGION,
            "ICEBERG_REST_URI": self.rest.glue_url,
            "ICEBERG_WAREHOUSE": self.rest.warehouse,
        }

    def open(self) -> RestCatalog:
        return RestCatalog("s3tables", **signed_properties(self.rest, self.aws))

    def create(self, name: Name) -> Name:
        catalog = self.open()
        with contextlib.suppress(NamespaceAlreadyExistsError):
            catalog.create_namespace(name[0])
        catalog.create_table(name, SCHEMA, properties=FOREIGN).append(rows(0))
        return name

    def settings(self, **changes: object) -> CatalogSettings:
        """The catalog as the configuration has it; the changes are fields."""
        fields = {
            "name": "s3tables",
            "type": "rest",
            "uri": self.rest.glue_url,
            "warehouse": self.rest.warehouse,
            "signing_name": "glue",
            "signing_region": "us-east-1",
            "region": "us-east-1",
            "s3_endpoint": self.aws.endpoint_url,
            **changes,
        }
        return CatalogSettings.model_validate(fields)

    def catalogs(self, **changes: object) -> Catalogs:
        """The default catalog and this one."""
        found = self.settings(**changes)
        return Catalogs(CatalogSettings(), {found.name: found})

    def properties(self, name: Name) -> dict[str, str]:
        return dict(self.open().load_table(name).properties)

    def lineage(self, name: Name) -> dict[str, str]:
        return {key: value for key, value in self.properties(name).items() if key.startswith(PREFIX)}


def chain(**options: Any) -> Chain:
    """The lineage of a table; the options are those of `add_table`."""
    graph = Graph()
    table = add_table(graph, "orders.v1", **options)
    return chain_of(graph, table.node_id)


def target(name: Name) -> IcebergTarget:
    return IcebergTarget(add_table(Graph(), "orders.v1"), "s3tables", name[:1], name[1])


def push(catalog: RestCatalog, name: Name, lineage: Chain | None, **options: Any) -> TableResult:
    """Push with the clock of the tests and without waiting. `settings` are fields of `PushSettings`."""
    settings = PushSettings(**options.pop("settings", {}))
    catalogs = opened(catalog, settings, clock=clock, sleep=no_sleep)
    return push_table(catalogs, target(name), lineage, complete=options.pop("complete", True), **options)


def opened(catalog: RestCatalog, settings: PushSettings, **options: Any) -> RestCatalogs:
    """Catalogs of which this one is open; the options are those of `RestCatalogs`."""

    class Opened(RestCatalogs):
        def _new_catalog(self, name: str) -> RestCatalog:
            assert name == catalog.name
            return catalog

    made = Opened(lambda: Catalogs(CatalogSettings()), settings, **options)
    made.open(catalog.name)
    return made


def answer(status: int, error_type: str = "") -> Callable[[], requests.Response]:
    """An answer without a body, such as a gateway's; a 404 is the catalog's own.

    Args:
        error_type: AWS's name for the error, in its header.
    """

    def make() -> requests.Response:
        made = requests.Response()
        made.status_code = status
        made.url = "http://catalog.example.com/iceberg"
        made.headers["x-amzn-ErrorType"] = error_type
        error = {"message": "Table does not exist", "type": "NoSuchTableException", "code": 404}
        made._content = json.dumps({"error": error}).encode() if status == 404 else b""
        return made

    return make


def fail(error: BaseException) -> Callable[[], requests.Response]:
    def raise_it() -> requests.Response:
        raise error

    return raise_it


@dataclass
class Fault:
    """What happens to requests of a method in place of their answer.

    Attributes:
        method: `GET` loads a table, `POST` commits.
        effect: Returns another answer, or raises; None leaves the answer as it is.
        times: How many requests have the fault.
        first: Called before such a request is sent.
    """

    method: str
    effect: Callable[[], requests.Response] | None = None
    times: int = 1
    first: Callable[[], object] | None = None


@dataclass
class FaultyAdapter(BaseAdapter):
    """Sends requests through another adapter, with faults."""

    inner: BaseAdapter
    faults: list[Fault]
    sent: list[str] = field(default_factory=list)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        method = str(request.method)
        self.sent.append(method)
        for fault in self.faults:
            if fault.method != method or not fault.times:
                continue
            fault.times -= 1
            if fault.first is not None:
                fault.first()
            if fault.effect is None:
                break
            made = fault.effect()
            made.request = request
            return made
        return self.inner.send(request, *args, **kwargs)

    def close(self) -> None:
        self.inner.close()


def with_faults(catalog: RestCatalog, *faults: Fault) -> FaultyAdapter:
    """Let requests of an open catalog have faults."""
    adapter = FaultyAdapter(catalog._session.get_adapter(catalog.uri), list(faults))
    catalog._session.mount(catalog.uri, adapter)
    return adapter
