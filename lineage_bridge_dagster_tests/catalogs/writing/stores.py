"""The catalogs that lineage is pushed to, as the tests of faults see them: Glue, and a REST catalog."""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable
from lineage_bridge_dagster.catalogs.rest.enrichment import table_node
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.documents import KEY_DIGEST, KEY_LAST_SYNCED, PREFIX, render
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node
from lineage_bridge_dagster.lineage.push_results import PushReport
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, NOW, REGION, add_table, discovery
from lineage_bridge_dagster_tests.catalogs.glue.runs import push_to_glue, push_to_rest
from lineage_bridge_dagster_tests.catalogs.writing.proxy import Answer, Proxy
from lineage_bridge_dagster_tests.embedded.rest.clients import signed_properties

FOREIGN = {"owner": "orders-team", "lineage": "theirs", "comment": "ünïcode, and a line\tbreak"}
_OURS = ("VersionId", "UpdateTime", "Parameters", "Description")
_JSON = {"Content-Type": "application/x-amz-json-1.1", "x-amzn-RequestId": "1"}


class Store(ABC):
    """Some tables of one catalog behind a proxy, and what others do to them.

    Attributes:
        proxy: what a push talks to; all else goes to the catalog itself.
        graph: the lineage of the tables.
        nodes: the node of each table, by name.
        rebases: whether the catalog applies a write to a table that others have changed since it was read.
    """

    rebases: bool

    def __init__(self, upstream: str) -> None:
        self.proxy = Proxy(upstream, self.step_of)
        self.graph = Graph()
        self.nodes: dict[str, Node] = {}

    def add(self, count: int = 1) -> list[str]:
        """Create tables with lineage to push; the first has seen a commit, like most."""
        names = [f"t{number}_{uuid.uuid4().hex[:8]}" for number in range(count)]
        for name in names:
            self.create(name)
            self.commit(name)
            self.nodes[name] = self.add_node(name)
        return names

    def wanted(self, name: str) -> dict[str, str]:
        """The parameters that a push gives the table, without those that tell about the push."""
        return dict(render(chain_of(self.graph, self.nodes[name].node_id), PushSettings()).parameters)

    def carried(self, name: str) -> dict[str, str]:
        """The parameters under our prefix, without those that tell about the push."""
        found = self.lineage(name)
        return {key: found[key] for key in found if key not in (KEY_DIGEST, KEY_LAST_SYNCED)}

    @staticmethod
    @abstractmethod
    def step_of(method: str, path: str, headers: Mapping[str, str]) -> str:
        """Whether a request reads or writes a table, or does neither."""

    @abstractmethod
    def error(self, status: int, name: str = "") -> Answer:
        """An error as this catalog answers it."""

    @property
    @abstractmethod
    def throttled(self) -> Answer: ...

    @property
    @abstractmethod
    def denied(self) -> Answer: ...

    @abstractmethod
    def add_node(self, name: str) -> Node:
        """Add a table and its lineage to the graph."""

    @abstractmethod
    def push(self, names: Sequence[str] | None = None, **settings: Any) -> PushReport: ...

    @abstractmethod
    def create(self, name: str) -> None: ...

    @abstractmethod
    def drop(self, name: str) -> None: ...

    @abstractmethod
    def commit(self, name: str) -> None:
        """Commit rows, as another writer does."""

    @abstractmethod
    def lineage(self, name: str) -> dict[str, str]: ...

    @abstractmethod
    def foreign(self, name: str) -> Any:
        """All that is not ours, but when it changed last."""

    @abstractmethod
    def versions(self, name: str) -> int:
        """How often the table was written."""

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """Variables with which `lineage-bridge` pushes to it."""


class GlueStore(Store):
    """Tables of strict Glue."""

    rebases = False

    def __init__(self, aws: StrictAws) -> None:
        super().__init__(aws.endpoint_url)
        self.catalog = Catalog(aws)

    @staticmethod
    def step_of(method: str, path: str, headers: Mapping[str, str]) -> str:
        operation = {name.lower(): value for name, value in headers.items()}.get("x-amz-target", "")
        steps = {"AWSGlue.GetTable": "read", "AWSGlue.GetTables": "read", "AWSGlue.UpdateTable": "write"}
        return steps.get(operation, "")

    def error(self, status: int, name: str = "InternalServiceException") -> Answer:
        return Answer(status, json.dumps({"__type": name, "Message": "no"}).encode(), _JSON)

    @property
    def throttled(self) -> Answer:
        return self.error(400, "ThrottlingException")

    @property
    def denied(self) -> Answer:
        return self.error(400, "AccessDeniedException")

    def add_node(self, name: str) -> Node:
        return add_table(self.graph, name)

    def push(self, names: Sequence[str] | None = None, **settings: Any) -> PushReport:
        client = glue_client(AwsSettings(region=REGION, endpoint_url=self.proxy.url))
        tables = None if names is None else [self.nodes[name].node_id for name in names]
        options = PushSettings(**settings)
        return push_to_glue(discovery(self.graph), client, options, tables=tables)

    def create(self, name: str) -> None:
        self.catalog.create(name, parameters=FOREIGN, Description="Orders.\n\nOf the shop.")

    def drop(self, name: str) -> None:
        self.catalog.glue.delete_table(DatabaseName=CLUSTER, Name=name)

    def commit(self, name: str) -> None:
        self.catalog.commit(name)

    def lineage(self, name: str) -> dict[str, str]:
        parameters = self.catalog.parameters(name)
        return {key: value for key, value in parameters.items() if key.startswith(PREFIX)}

    def foreign(self, name: str) -> Any:
        table = self.catalog.table(name)
        parameters = {key: table["Parameters"][key] for key in table["Parameters"] if PREFIX not in key}
        return (
            {key: value for key, value in table.items() if key not in _OURS},
            parameters,
            split_description(table.get("Description", ""))[0],
        )

    def versions(self, name: str) -> int:
        return int(self.catalog.table(name)["VersionId"])

    def environment(self) -> dict[str, str]:
        return {"AWS_ENDPOINT_URL_GLUE": self.proxy.url}


class RestStore(Store):
    """Tables of a table bucket behind Glue's Iceberg endpoint."""

    rebases = True

    def __init__(self, aws: StrictAws, rest: IcebergRest) -> None:
        super().__init__(rest.glue_url)
        self.catalog = RestCatalog("direct", **signed_properties(rest, aws))
        self.namespace = f"ns_{uuid.uuid4().hex[:8]}"
        self.catalog.create_namespace(self.namespace)
        self.settings = CatalogSettings(
            name="s3tables",
            type="rest",
            uri=self.proxy.url,
            warehouse=rest.warehouse,
            signing_name="glue",
            region=REGION,
        )

    @staticmethod
    def step_of(method: str, path: str, headers: Mapping[str, str]) -> str:
        return {"GET": "read", "POST": "write"}.get(method, "") if "/tables/" in path else ""

    def error(self, status: int, name: str = "InternalServerError") -> Answer:
        body = {"error": {"message": "no", "type": name, "code": status}}
        return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})

    @property
    def throttled(self) -> Answer:
        return self.error(429, "TooManyRequestsException")

    @property
    def denied(self) -> Answer:
        return self.error(403, "ForbiddenException")

    def add_node(self, name: str) -> Node:
        flow = add_table(self.graph, name, glue=False)
        table = IcebergTable((self.namespace,), name, "", (), "", {})
        node = table_node(table, self.settings, Scope("iceberg", "", "s3tables"), NOW.isoformat())
        self.graph.add_node(node)
        self.graph.add_edge(Edge(flow.node_id, node.node_id, EdgeType.MATERIALIZES))
        return node

    def push(self, names: Sequence[str] | None = None, **settings: Any) -> PushReport:
        catalogs = Catalogs(CatalogSettings(), {"s3tables": self.settings})
        tables = None if names is None else [self.nodes[name].node_id for name in names]
        return push_to_rest(
            discovery(self.graph),
            catalogs,
            PushSettings(**settings),
            tables=tables,
        )

    def create(self, name: str) -> None:
        schema = pa.schema([("id", pa.int64())])
        self.catalog.create_table((self.namespace, name), schema, properties=FOREIGN)

    def drop(self, name: str) -> None:
        self.catalog.drop_table((self.namespace, name))

    def commit(self, name: str) -> None:
        self.catalog.load_table((self.namespace, name)).append(pa.table({"id": pa.array([1], pa.int64())}))

    def lineage(self, name: str) -> dict[str, str]:
        properties = self.catalog.load_table((self.namespace, name)).properties
        return {key: value for key, value in properties.items() if key.startswith(PREFIX)}

    def foreign(self, name: str) -> Any:
        metadata = self.catalog.load_table((self.namespace, name)).metadata.model_dump(
            mode="json", by_alias=True
        )
        properties = metadata.pop("properties")
        del metadata["last-updated-ms"], metadata["metadata-log"]
        return metadata, {key: properties[key] for key in properties if not key.startswith(PREFIX)}

    def versions(self, name: str) -> int:
        return len(self.catalog.load_table((self.namespace, name)).metadata.metadata_log)

    def environment(self) -> dict[str, str]:
        return {"ICEBERG_REST_URI": self.proxy.url, "ICEBERG_WAREHOUSE": str(self.settings.warehouse)}


def variables(aws: StrictAws) -> dict[str, str]:
    """The variables of both."""
    return {
        "AWS_ENDPOINT_URL": aws.endpoint_url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        "LINEAGE_BRIDGE_AWS_REGION": REGION,
    }
