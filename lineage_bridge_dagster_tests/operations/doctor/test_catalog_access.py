"""The checks of catalogs against the embedded REST catalogs, whose gates verify signatures and tokens."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.rest.server import TABLEFLOW, IcebergRest
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import catalog_access
from lineage_bridge_dagster.operations.doctor.context import Context, StoredDiscovery
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus, Finding
from lineage_bridge_dagster_tests.catalogs.glue.graphs import discovery, tableflow_node
from lineage_bridge_dagster_tests.embedded.rest.clients import signed_properties
from lineage_bridge_dagster_tests.operations.doctor.examined import examine, with_status, worst

pytestmark = pytest.mark.xdist_group("rest")

BUCKET = "doctors-bucket"
KEY = world.api_key("tableflow")
CREDENTIAL = "LINEAGE_BRIDGE_CATALOG_TABLEFLOW_CREDENTIAL"
AWS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def aws() -> Iterator[StrictAws]:
    with StrictAws() as running:
        running.client("s3").create_bucket(Bucket=BUCKET)
        yield running


@pytest.fixture(scope="module")
def rest(aws: StrictAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergRest]:
    """A table bucket with `sales.orders`, and Tableflow's catalog with `lkc-1.orders`."""
    data = tmp_path_factory.mktemp("rest")
    with IcebergRest(data, aws_url=aws.endpoint_url, account=aws.account_id, bucket=BUCKET) as server:
        keys = {"s3.endpoint": aws.endpoint_url, "s3.access-key-id": "any", "s3.secret-access-key": "any"}
        writers = {
            "sales": RestCatalog("s3tables", **signed_properties(server, aws)),
            "lkc-1": RestCatalog("writer", uri=server.backend(TABLEFLOW), **keys),
        }
        for namespace, writer in writers.items():
            writer.create_namespace(namespace)
            writer.create_table((namespace, "orders"), pa.schema([("id", pa.int64())]))
        yield server


class Doctor:
    """Contexts with the table bucket or Tableflow's catalog beside Glue."""

    def __init__(self, rest: IcebergRest, aws: StrictAws, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rest, self.aws, self._monkeypatch = rest, aws, monkeypatch

    def s3_tables(self, changes: Mapping[str, str] | None = None, **fields: Any) -> Context:
        variables = {
            **AWS,
            "ICEBERG_REST_URI": self.rest.glue_url,
            "ICEBERG_WAREHOUSE": self.rest.warehouse,
            "AWS_ENDPOINT_URL_S3": self.aws.endpoint_url,
            **(changes or {}),
        }
        return self._context(variables, {"s3tables": fields})

    def tableflow(self, credential: str = f"{KEY.key}:{KEY.secret}", **fields: Any) -> Context:
        settings = {"type": "rest", "uri": self.rest.tableflow_url, "read_only": True, **fields}
        return self._context({**AWS, CREDENTIAL: credential}, {"tableflow": settings})

    def _context(self, variables: Mapping[str, str], named: Mapping[str, Any]) -> Context:
        for name, value in variables.items():
            self._monkeypatch.setenv(name, value)
        return Context(variables=variables, given={"catalogs": {"named": named}})


@pytest.fixture
def doctor(rest: IcebergRest, aws: StrictAws, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    return Doctor(rest, aws, monkeypatch)


def reached(context: Context) -> list[Finding]:
    return examine(catalog_access.reach, context)


def test_a_catalog_that_takes_us_is_well(doctor: Doctor) -> None:
    results = reached(doctor.s3_tables({"ICEBERG_NAMESPACE": "sales"}))
    assert {result.status for result in results} == {CheckStatus.OK}
    text = str(results)
    assert (
        f"at {doctor.rest.glue_url}, warehouse {doctor.rest.warehouse}, signed for glue in us-east-1" in text
    )
    assert "sales.orders is readable" in text


@pytest.mark.parametrize(
    ("changes", "fields", "message", "remedy"),
    [
        ({}, {"signing_name": "s3tables"}, "signed for s3tables", "Write signing_name: glue"),
        ({"AWS_REGION": "eu-west-1"}, {}, "scoped to a valid region", "signing_region"),
        ({"ICEBERG_WAREHOUSE": "111122223333:s3tablescatalog/metrcs"}, {}, "not found", "Correct warehouse"),
        ({"ICEBERG_WAREHOUSE": "s3://metrics"}, {}, "is a catalog, not a location", "s3tablescatalog/bucket"),
        ({"AWS_SECRET_ACCESS_KEY": "another-secret"}, {}, "signature we calculated", "AWS_SECRET_ACCESS_KEY"),
        ({"ICEBERG_NAMESPACE": "sale"}, {}, "It has sales", "Did you mean sales?"),
    ],
    ids=["service", "region", "warehouse", "location", "secret", "namespace"],
)
def test_a_mistake_in_the_settings_says_what_to_write(
    doctor: Doctor, changes: dict[str, str], fields: dict[str, Any], message: str, remedy: str
) -> None:
    context = doctor.s3_tables(changes, **fields)
    found = worst(catalog_access_or_error(context))
    assert found.status is CheckStatus.FAILED
    assert message in found.result
    assert remedy in found.remedy


def catalog_access_or_error(context: Context) -> list[Finding]:
    """What the runner reports: settings that cannot be read are a finding, too."""
    from lineage_bridge_dagster.operations.doctor.checks import run_checks
    from lineage_bridge_dagster.operations.doctor.finding import Check

    found = run_checks([Check("catalogs.reach", "", catalog_access.reach)], context)
    return [Finding(one.status, one.tried, one.result, one.remedy) for one in found]


def test_a_service_that_requests_are_not_signed_for_is_named(doctor: Doctor) -> None:
    # A proxy in front of Glue, whose host does not tell what it is.
    fields = {"type": "rest", "uri": doctor.rest.glue_url, "signing_name": "execute-api"}
    context = doctor._context(AWS, {"lake": {**fields, "warehouse": "lake"}})
    found = worst(reached(context))
    assert "scoped to correct service: 'glue'" in found.result
    assert "Set signing_name of the catalog to glue" in found.remedy


def test_a_wrong_clock_is_named(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.rest, "clock_skew_seconds", 600.0)
    found = worst(reached(doctor.s3_tables()))
    assert "Signature expired" in found.result
    assert "clock" in found.remedy


def test_a_catalog_that_does_not_answer_leaves_the_others_alone(doctor: Doctor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"http://127.0.0.1:{listener.getsockname()[1]}"
    named = {
        "closed": {"type": "rest", "uri": closed},
        "tableflow": {"type": "rest", "uri": doctor.rest.tableflow_url, "read_only": True},
    }
    variables = {**AWS, CREDENTIAL: f"{KEY.key}:{KEY.secret}"}
    results = reached(doctor._context(variables, named))
    (failed,) = with_status(results, CheckStatus.FAILED)
    assert "the network" in failed.remedy
    assert any("lkc-1.orders is readable" in result.result for result in results)


def test_tableflows_catalog_takes_its_key(doctor: Doctor) -> None:
    results = reached(doctor.tableflow())
    assert {result.status for result in results} == {CheckStatus.OK}
    assert f"client credentials in {CREDENTIAL}" in str(results)
    assert KEY.secret not in str(results)


def tableflow_entry(doctor: Doctor, graph: Graph | None, secret: str = KEY.secret) -> Context:
    """The entry for Tableflow's catalogs that a variable makes, which stands for those of a discovery."""
    key = {"LINEAGE_BRIDGE_TABLEFLOW_API_KEY": KEY.key, "LINEAGE_BRIDGE_TABLEFLOW_API_SECRET": secret}
    address = doctor.rest.glue_url.removesuffix("/iceberg")
    variables = {**AWS, **key, "LINEAGE_BRIDGE_TABLEFLOW_CATALOG": address}
    stored = StoredDiscovery(discovery(graph), "a test") if graph is not None else None
    return Context(lambda: stored, variables=variables)


def test_tableflows_catalogs_are_those_of_the_discovery(doctor: Doctor) -> None:
    place = {"organization_id": world.ORGANIZATION_ID, "cluster_cloud": "AWS", "cluster_region": "us-east-1"}
    graph = Graph([tableflow_node("orders", cluster="lkc-1", environment=world.ENVIRONMENT_ID, **place)])
    results = reached(tableflow_entry(doctor, graph))
    assert {result.status for result in results} == {CheckStatus.OK}
    assert "with the Tableflow API key" in str(results)
    assert "lkc-1.orders is readable" in str(results)
    refused = worst(reached(tableflow_entry(doctor, graph, "of-another-plane")))
    assert "invalid_client" in refused.result
    assert "LINEAGE_BRIDGE_TABLEFLOW_API_KEY" in refused.remedy
    assert writes(tableflow_entry(doctor, graph)).status is CheckStatus.OK


def test_without_a_discovery_tableflows_catalogs_are_not_known(doctor: Doctor) -> None:
    (skipped,) = with_status(reached(tableflow_entry(doctor, None)), CheckStatus.SKIPPED)
    assert "tableflow in the settings expands to" in skipped.tried


@pytest.mark.parametrize(
    ("credential", "scope", "message", "remedy"),
    [
        (f"{KEY.key}:wrong-secret", None, "invalid_client", "credential_variable"),
        (f"{KEY.key}:{KEY.secret}", "PRINCIPAL_ROLE:ALL", "invalid_scope", "scope of the catalog"),
        ("", None, "without credentials", f"Set {CREDENTIAL}"),
    ],
    ids=["key", "scope", "none"],
)
def test_a_key_that_tableflows_catalog_refuses_is_named(
    doctor: Doctor, credential: str, scope: str | None, message: str, remedy: str
) -> None:
    found = worst(reached(doctor.tableflow(credential, **({"scope": scope} if scope else {}))))
    assert message in found.tried + found.result
    assert remedy in found.remedy
    assert "wrong-secret" not in found.result


def test_a_token_that_expired_is_named(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    issuer = doctor.rest.issuer
    form = {"grant_type": "client_credentials", "client_id": KEY.key, "client_secret": KEY.secret}
    token = issuer.issue({**form, "scope": "catalog"})["access_token"]
    now = issuer.now
    monkeypatch.setattr(issuer, "now", lambda: now() + 24 * 3600)
    variable = "LINEAGE_BRIDGE_CATALOG_TABLEFLOW_TOKEN"
    settings = {"type": "rest", "uri": doctor.rest.tableflow_url}
    found = worst(reached(doctor._context({**AWS, variable: str(token)}, {"tableflow": settings})))
    assert "expired" in found.result
    assert "credential_variable" in found.remedy


def writes(context: Context) -> Finding:
    (found,) = [
        one for one in examine(catalog_access.writes, context) if one.status is not CheckStatus.SKIPPED
    ]
    return found


def test_writes_are_tried_without_a_change(doctor: Doctor) -> None:
    table = RestCatalog("s3tables", **signed_properties(doctor.rest, doctor.aws)).load_table("sales.orders")
    found = writes(doctor.s3_tables())
    assert found.status is CheckStatus.OK
    assert "It accepts commits to sales.orders" in found.result
    assert table.refresh().metadata_location == table.metadata_location
    assert "read_only prevents them" in writes(doctor.s3_tables(read_only=True)).result


def test_a_catalog_that_takes_no_writes_must_be_read_only_in_the_settings(doctor: Doctor) -> None:
    assert writes(doctor.tableflow()).status is CheckStatus.OK
    found = writes(doctor.tableflow(read_only=False))
    assert found.status is CheckStatus.FAILED
    assert "read-only" in found.result
    assert "read_only: true for catalog tableflow" in found.remedy


def test_a_catalog_without_tables_is_not_written_to(doctor: Doctor) -> None:
    warehouse = doctor.aws.account_id
    doctor.aws.client("glue").create_database(DatabaseInput={"Name": f"empty{uuid.uuid4().hex[:6]}"})
    (found,) = examine(catalog_access.writes, doctor.s3_tables({"ICEBERG_WAREHOUSE": warehouse}))
    assert "no table to test this with" in found.result


def test_glues_own_catalog_is_tried_by_another_check() -> None:
    (found,) = reached(Context(variables={"LINEAGE_BRIDGE_AWS_REGION": "us-east-1"}))
    assert "glue.read" in found.result
    (none,) = examine(catalog_access.writes, Context(variables={"LINEAGE_BRIDGE_AWS_REGION": "us-east-1"}))
    assert none.status is CheckStatus.SKIPPED
