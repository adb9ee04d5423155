"""The light Glue answers as Glue does: as its service model says, and as the strict Glue does."""

from __future__ import annotations

import json
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient, raw_table
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION
from lineage_bridge_dagster_tests.catalogs.glue.light_glue import LightGlue

_WRITABLE = ("Name", "Owner", "Retention", "TableType", "Parameters", "StorageDescriptor")
#: What differs between two servers.
_OF_THE_SERVER = ("CatalogId", "CreateTime", "UpdateTime", "CreatedBy")


def _input(name: str) -> dict[str, Any]:
    return {key: value for key, value in raw_table(name).items() if key in _WRITABLE}


@pytest.fixture
def glue() -> LightGlue:
    glue = LightGlue()
    for name in ("a", "b", "c"):
        glue.add_table(CLUSTER, _input(name))
    return glue


@pytest.fixture
def light(credentials: None, glue: LightGlue) -> GlueClient:
    client = glue_client(AwsSettings(region=REGION, endpoint_url="http://127.0.0.1:1"))
    glue.attach(client)
    return client


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("GetDatabases", {}),
        ("GetTables", {"DatabaseName": CLUSTER, "MaxResults": 2}),
        ("GetTable", {"DatabaseName": CLUSTER, "Name": "a"}),
        ("UpdateTable", {"DatabaseName": CLUSTER, "TableInput": {"Name": "a"}}),
    ],
)
def test_answers_are_what_the_service_model_says(
    glue: LightGlue, operation: str, request_: dict[str, Any]
) -> None:
    shape = botocore.session.get_session().get_service_model("glue").operation_model(operation).output_shape
    assert shape is not None
    status, body = glue.answer(operation, json.dumps(request_).encode())
    problems = ParamValidator().validate(json.loads(body), shape)
    assert (status, problems.generate_report()) == (200, "")
    assert json.loads(body).keys() <= shape.members.keys()


def test_tables_are_those_of_the_strict_glue(light: GlueClient, client: GlueClient, catalog: Catalog) -> None:
    for name in ("a", "b", "c"):
        catalog.create(name)

    def tables(of: GlueClient) -> list[dict[str, Any]]:
        for table in of.get_tables(DatabaseName=CLUSTER)["TableList"][:1]:
            changed: Any = {**_input(table["Name"]), "Description": "changed"}
            of.update_table(DatabaseName=CLUSTER, TableInput=changed, VersionId="0", SkipArchive=True)
        listed: Any = of.get_tables(DatabaseName=CLUSTER)["TableList"]
        single: Any = of.get_table(DatabaseName=CLUSTER, Name="a")["Table"]
        return [
            {key: value for key, value in table.items() if key not in _OF_THE_SERVER}
            for table in (*listed, single)
        ]

    assert tables(light) == tables(client)


def test_pages_end_and_are_at_most_100_tables(light: GlueClient, glue: LightGlue) -> None:
    for number in range(250):
        glue.add_table("big", _input(f"t{number:03d}"))
    pages = [page["TableList"] for page in light.get_paginator("get_tables").paginate(DatabaseName="big")]
    assert [len(page) for page in pages] == [100, 100, 50]
    assert len({table["Name"] for page in pages for table in page}) == 250


def test_update_of_an_old_version_is_a_conflict(light: GlueClient, glue: LightGlue) -> None:
    change: Any = {"DatabaseName": CLUSTER, "TableInput": _input("a"), "VersionId": "0"}
    light.update_table(**change)
    with pytest.raises(light.exceptions.ConcurrentModificationException):
        light.update_table(**change)
    assert glue.versions()[CLUSTER, "a"] == 1


def test_what_is_not_there_is_not_found(light: GlueClient) -> None:
    with pytest.raises(light.exceptions.EntityNotFoundException):
        light.get_table(DatabaseName=CLUSTER, Name="missing")
    with pytest.raises(light.exceptions.EntityNotFoundException):
        light.get_tables(DatabaseName="missing")


def test_calls_above_the_rate_are_refused_until_tokens_are_there_again() -> None:
    now = [100.0]
    glue = LightGlue(clock=lambda: now[0], sleep=lambda seconds: None)
    glue.throttle(20, burst=5)
    served = [glue.answer("GetDatabases", b"{}")[0] for _ in range(8)]
    assert served == [200] * 5 + [400] * 3
    now[0] += 0.125
    assert [glue.answer("GetDatabases", b"{}")[0] for _ in range(3)] == [200, 200, 400]
    traffic = glue.traffic()
    assert (traffic.total, traffic.throttled, traffic.by_second) == (11, 4, {100: 11})
    assert glue.traffic().total == 0


def test_refusal_is_glues(light: GlueClient, glue: LightGlue) -> None:
    glue.throttle(1, burst=0)
    give_up: Any = lambda **_: False  # noqa: E731
    light.meta.events.register_first("needs-retry.glue", give_up)
    with pytest.raises(ClientError) as raised:
        light.get_databases()
    assert raised.value.response["Error"] == {"Code": "ThrottlingException", "Message": "Rate exceeded"}
