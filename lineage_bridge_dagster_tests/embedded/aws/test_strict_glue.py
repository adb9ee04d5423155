"""The local Glue is as strict as AWS Glue, as seen by botocore's client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from lineage_bridge_dagster.embedded.aws import StrictAws


@pytest.fixture
def aws() -> Iterator[StrictAws]:
    with StrictAws() as server:
        yield server


@pytest.fixture
def glue(aws: StrictAws) -> Any:
    client = aws.client("glue", config=Config(retries={"total_max_attempts": 1}, max_pool_connections=40))
    client.create_database(DatabaseInput={"Name": "lkc-abc123"})
    return client


def _create(glue: Any, name: str = "orders.v1", **fields: Any) -> dict[str, Any]:
    glue.create_table(DatabaseName="lkc-abc123", TableInput={"Name": name, **fields})
    return _table(glue, name)


def _table(glue: Any, name: str = "orders.v1") -> dict[str, Any]:
    return dict(glue.get_table(DatabaseName="lkc-abc123", Name=name)["Table"])


def _update(
    glue: Any, name: str = "orders.v1", *, fields: dict[str, Any] | None = None, **options: Any
) -> None:
    glue.update_table(DatabaseName="lkc-abc123", TableInput={"Name": name, **(fields or {})}, **options)


def _error_code(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def test_update_with_a_stale_version_fails_with_glues_message(glue: Any) -> None:
    assert _create(glue)["VersionId"] == "0"
    _update(glue, VersionId="0")
    assert _table(glue)["VersionId"] == "1"
    with pytest.raises(ClientError) as rejected:
        _update(glue, VersionId="0", fields={"Description": "late"})
    assert _error_code(rejected) == "ConcurrentModificationException"
    assert (
        rejected.value.response["Error"]["Message"] == "Update table failed due to concurrent modifications."
    )
    assert rejected.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert "Description" not in _table(glue)


def test_update_without_a_version_overwrites(glue: Any) -> None:
    _create(glue, Description="first")
    _update(glue, fields={"Description": "second"})
    assert _table(glue)["Description"] == "second"


def test_update_archives_the_old_version_unless_skip_archive_is_set(glue: Any) -> None:
    _create(glue)
    for _ in range(3):
        _update(glue, SkipArchive=True)
    versions = glue.get_table_versions(DatabaseName="lkc-abc123", TableName="orders.v1")["TableVersions"]
    assert [version["VersionId"] for version in versions] == ["3"]
    _update(glue, fields={"Description": "new"})
    versions = glue.get_table_versions(DatabaseName="lkc-abc123", TableName="orders.v1")["TableVersions"]
    assert [version["VersionId"] for version in versions] == ["4", "3"]
    assert [version["Table"].get("Description") for version in versions] == ["new", None]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"Description": "x" * 2049}, "table.description"),
        ({"Description": "é" * 1025}, "table.description"),
        ({"Description": "a\x00b"}, "table.description"),
        ({"Parameters": {"k": "v" * 512_001}}, "table.parameters"),
        ({"Parameters": {"k" * 256: "v"}}, "table.parameters"),
        ({"Parameters": {"a\nb": "v"}}, "table.parameters"),
        (
            {"StorageDescriptor": {"Columns": [{"Name": "c", "Comment": "x" * 256}]}},
            "table.storageDescriptor.columns.1.member.comment",
        ),
    ],
)
def test_input_over_glues_limits_is_rejected_and_changes_nothing(
    glue: Any, fields: dict[str, Any], path: str
) -> None:
    _create(glue, Description="kept")
    with pytest.raises(ClientError) as rejected:
        _update(glue, fields=fields)
    assert _error_code(rejected) == "ValidationException"
    assert f"at '{path}' failed to satisfy constraint" in str(rejected.value)
    assert _table(glue)["VersionId"] == "0"


def test_input_at_glues_limits_is_accepted(glue: Any) -> None:
    fields = {"Description": "é" * 1024, "Parameters": {"k" * 255: "v" * 512_000, "lines": "a\nb 🦆"}}
    _create(glue)
    _update(glue, fields=fields)
    assert {key: _table(glue)[key] for key in fields} == fields


def test_a_request_that_is_too_large_as_a_whole_is_rejected(glue: Any) -> None:
    _create(glue)
    with pytest.raises(ClientError, match="Payload size of request exceeded limit") as rejected:
        _update(glue, fields={"Parameters": {"a": "v" * 300_000, "b": "v" * 300_000}})
    assert _error_code(rejected) == "InvalidInputException"
    assert _table(glue)["VersionId"] == "0"


def test_lists_have_pages_of_at_most_100_items_without_duplicates(aws: StrictAws, glue: Any) -> None:
    names = [f"t{number:03}" for number in range(205)]
    for name in names:
        _create(glue, name)
    pages = list(glue.get_paginator("get_tables").paginate(DatabaseName="lkc-abc123"))
    assert [len(page["TableList"]) for page in pages] == [100, 100, 5]
    assert [table["Name"] for page in pages for table in page["TableList"]] == names
    with pytest.raises(ClientError) as rejected:
        glue.get_tables(DatabaseName="lkc-abc123", MaxResults=101)
    assert _error_code(rejected) == "ValidationException"
    for number in range(101):
        glue.create_database(DatabaseInput={"Name": f"d{number}"})
    databases = list(glue.get_paginator("get_databases").paginate())
    assert [len(page["DatabaseList"]) for page in databases] == [100, 2]


def test_all_operations_fold_names_to_lower_case(glue: Any) -> None:
    glue.create_database(DatabaseInput={"Name": "Sales"})
    glue.create_table(DatabaseName="SALES", TableInput={"Name": "Orders"})
    assert glue.get_table(DatabaseName="sales", Name="ORDERS")["Table"]["Name"] == "orders"
    with pytest.raises(ClientError) as rejected:
        glue.create_table(DatabaseName="sales", TableInput={"Name": "orders"})
    assert _error_code(rejected) == "AlreadyExistsException"
    glue.update_table(DatabaseName="Sales", TableInput={"Name": "OrdErs", "Description": "d"})
    assert glue.get_tables(DatabaseName="Sales")["TableList"][0]["Description"] == "d"
    glue.delete_table(DatabaseName="sales", Name="ORDERS")
    assert glue.get_tables(DatabaseName="sales")["TableList"] == []


def test_get_table_returns_the_read_only_fields_that_glue_sets(glue: Any) -> None:
    table = _create(glue, StorageDescriptor={"Columns": [], "Location": "s3://b/t"})
    assert {"CreateTime", "UpdateTime", "CreatedBy", "IsRegisteredWithLakeFormation", "CatalogId"} <= set(
        table
    )
    assert table["StorageDescriptor"]["StoredAsSubDirectories"] is False


def test_times_are_whole_seconds(glue: Any) -> None:
    table = _create(glue)
    assert (table["CreateTime"].microsecond, table["UpdateTime"].microsecond) == (0, 0)


@pytest.mark.parametrize("operation", ["get_table", "delete_table"])
def test_a_missing_table_raises_entity_not_found(glue: Any, operation: str) -> None:
    with pytest.raises(ClientError) as rejected:
        getattr(glue, operation)(DatabaseName="lkc-abc123", Name="gone")
    assert _error_code(rejected) == "EntityNotFoundException"


def test_an_unsigned_request_is_rejected(aws: StrictAws) -> None:
    import httpx

    headers = {"X-Amz-Target": "AWSGlue.GetDatabases"}
    response = httpx.post(aws.endpoint_url, headers=headers, json={})
    assert response.status_code == 400
    assert response.json()["__type"] == "MissingAuthenticationTokenException"
    assert httpx.get(aws.endpoint_url + "/bucket/key").status_code == 403


def test_a_fault_affects_only_matching_calls_and_the_given_number_of_them(aws: StrictAws, glue: Any) -> None:
    _create(glue, "one")
    _create(glue, "two")
    aws.fail("UpdateTable", "ThrottlingException", times=2, matching='"two"')
    _update(glue, "one")
    for _ in range(2):
        with pytest.raises(ClientError) as rejected:
            _update(glue, "two")
        assert _error_code(rejected) == "ThrottlingException"
    _update(glue, "two")
    assert _table(glue, "two")["VersionId"] == "1"
    assert aws.calls["UpdateTable"] == 4


def test_apply_first_applies_a_write_that_then_fails_or_hangs_up(aws: StrictAws, glue: Any) -> None:
    _create(glue)
    aws.fail("UpdateTable", "InternalServiceException", status=500, apply_first=True)
    with pytest.raises(ClientError) as rejected:
        _update(glue, fields={"Description": "first"})
    assert rejected.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert _table(glue)["Description"] == "first"
    aws.fail("UpdateTable", apply_first=True, drop=True)
    with pytest.raises(ConnectionClosedError):
        _update(glue, fields={"Description": "second"})
    assert _table(glue)["Description"] == "second"
    assert _table(glue)["VersionId"] == "2"


def test_a_fault_without_apply_first_changes_nothing(aws: StrictAws, glue: Any) -> None:
    _create(glue)
    aws.fail("UpdateTable", drop=True)
    with pytest.raises(ConnectionClosedError):
        _update(glue, fields={"Description": "lost"})
    assert _table(glue)["VersionId"] == "0"


def test_the_admin_api_sets_faults_and_returns_call_counts(aws: StrictAws, glue: Any) -> None:
    import httpx

    assert httpx.get(aws.endpoint_url + "/_strict/health").json() == {"status": "ok"}
    fault = {"operation": "GetTables", "code": "AccessDeniedException", "times": 1}
    assert httpx.post(aws.endpoint_url + "/_strict/faults", json=fault).status_code == 200
    assert httpx.post(aws.endpoint_url + "/_strict/faults", json={"nonsense": 1}).status_code == 400
    with pytest.raises(ClientError) as rejected:
        glue.get_tables(DatabaseName="lkc-abc123")
    assert _error_code(rejected) == "AccessDeniedException"
    assert httpx.get(aws.endpoint_url + "/_strict/calls").json()["GetTables"] == 1
    assert httpx.delete(aws.endpoint_url + "/_strict/faults").json() == []


def test_two_servers_in_one_process_do_not_see_each_other(aws: StrictAws, glue: Any) -> None:
    with StrictAws() as other:
        assert other.client("glue").get_databases()["DatabaseList"] == []
        assert other.client("glue", "eu-west-1").get_databases()["DatabaseList"] == []
    assert len(glue.get_databases()["DatabaseList"]) == 1
