"""What `lineage-bridge migrate` tells of the lineage tables of version 0.1.0, in a catalog of Glue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DoubleType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestamptzType,
)

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.spark.chains.lineage_tables import COLUMNS
from lineage_bridge_dagster_tests.upgrade import V0_1_0

REGION = "us-east-1"
NAMESPACE = "lineage_bridge"

_PRIMITIVES: Mapping[str, Callable[[], PrimitiveType]] = {
    "string": StringType,
    "int": IntegerType,
    "bigint": LongType,
    "double": DoubleType,
    "boolean": BooleanType,
    "timestamp": TimestamptzType,
}


def _schema(columns: Mapping[str, str]) -> Schema:
    fields = []
    for number, (name, kind) in enumerate(columns.items(), start=1):
        if kind in _PRIMITIVES:
            found = _PRIMITIVES[kind]()
        elif kind == "array<string>":
            found = ListType(100 + number, StringType(), element_required=False)
        else:
            parts = [NestedField(200 + i, each, StringType()) for i, each in enumerate(("name", "type"))]
            found = ListType(100 + number, StructType(*parts), element_required=False)
        fields.append(NestedField(number, name, found))
    return Schema(*fields)


@pytest.fixture(scope="module")
def aws() -> Iterator[StrictAws]:
    with StrictAws() as server:
        server.client("s3", REGION).create_bucket(Bucket="lake-of-0-1")
        yield server


@pytest.fixture
def catalog(aws: StrictAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalog]:
    """The lineage tables as 0.1.0 created them, in the catalog of the environment."""
    for name, value in {
        "AWS_ENDPOINT_URL": aws.endpoint_url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": REGION,
        "LINEAGE_BRIDGE_AWS_REGION": REGION,
        "LINEAGE_BRIDGE_CATALOG_WAREHOUSE": "s3://lake-of-0-1/warehouse",
        "DAGSTER_HOME": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)
    found = load_catalog(
        "glue", **{"type": "glue", "warehouse": "s3://lake-of-0-1/warehouse", "s3.endpoint": aws.endpoint_url}
    )
    found.create_namespace(NAMESPACE)
    for name, columns in json.loads((V0_1_0 / "lineage_tables.json").read_text()).items():
        found.create_table((NAMESPACE, name), _schema(columns))
    yield found
    aws.clear_faults()
    for identifier in found.list_tables(NAMESPACE):
        found.drop_table(identifier)
    found.drop_namespace(NAMESPACE)


def migrate(*options: str) -> tuple[int, dict[str, str]]:
    """The command's exit code, and its line about each table."""
    result = CliRunner().invoke(main, ["migrate", *options])
    lines = (line.partition(": ") for line in result.output.splitlines())
    return result.exit_code, {where: text for where, _, text in lines}


def locations(catalog: Catalog) -> dict[str, str]:
    return {name: catalog.load_table((NAMESPACE, name)).metadata_location for name in COLUMNS}


def test_tables_of_0_1_0_need_no_change(catalog: Catalog) -> None:
    before = locations(catalog)
    expected = {f"{NAMESPACE}.{name}": "format 1" for name in COLUMNS}
    assert migrate("--dry-run") == (0, expected)
    assert migrate() == (0, expected)
    assert locations(catalog) == before


def test_columns_that_the_next_write_changes_are_told_one_by_one_and_left_to_it(catalog: Catalog) -> None:
    with catalog.load_table((NAMESPACE, "edges")).update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("inputs").delete_column("digest").add_column("content", LongType())
    # A first write was interrupted before it came to this one.
    catalog.drop_table((NAMESPACE, "coverage"))
    before = catalog.load_table((NAMESPACE, "edges")).metadata_location
    for options in (("--dry-run",), ()):
        code, found = migrate(*options)
        assert code == 0
        assert found[f"{NAMESPACE}.edges"] == "the next write adds inputs, adds digest, drops content"
        assert found[f"{NAMESPACE}.coverage"] == "does not exist yet; the first write creates it"
        assert found[f"{NAMESPACE}.nodes"] == "format 1"
    assert catalog.load_table((NAMESPACE, "edges")).metadata_location == before


def test_tables_of_a_newer_version_are_refused(catalog: Catalog) -> None:
    with catalog.load_table((NAMESPACE, "nodes")).transaction() as change:
        change.set_properties({"lineage_bridge.format": "9"})
    code, found = migrate("--dry-run")
    assert code == 1
    assert "has format 9 of the lineage tables" in found[f"{NAMESPACE}.nodes"]
    assert found[f"{NAMESPACE}.edges"] == "format 1"


def test_a_table_that_cannot_be_asked_is_not_called_missing(catalog: Catalog, aws: StrictAws) -> None:
    aws.fail("GetTable", "AccessDeniedException", status=400, times=None)
    code, found = migrate("--dry-run")
    assert code == 1
    assert found.keys() == {f"{NAMESPACE}.{name}" for name in COLUMNS}
    assert "does not exist" not in str(found)
