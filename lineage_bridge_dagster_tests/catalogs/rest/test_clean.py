"""Taking our properties out of the tables of a bucket."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyiceberg.catalog.rest import RestCatalog

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.lineage.documents import KEY_OWNER
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster_tests.catalogs.rest.tables import FOREIGN, Bucket, Name, chain, push

pytestmark = pytest.mark.xdist_group("rest")


@pytest.fixture
def pushed(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Name]:
    """A table with our lineage; beside it, one without."""
    monkeypatch.chdir(tmp_path)
    for variable, value in bucket.environment.items():
        monkeypatch.setenv(variable, value)
    namespace = f"ns_{uuid.uuid4().hex[:8]}"
    names = [bucket.create((namespace, "orders")), bucket.create((namespace, "other"))]
    monkeypatch.setenv("ICEBERG_NAMESPACE", namespace)
    assert push(bucket.open(), names[0], chain()).status is PushStatus.UPDATED
    yield names[0]
    for name in names:
        bucket.open().drop_table(name)


def clean(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["clean", *arguments])


def counts(result: Result) -> dict[str, int]:
    assert result.exit_code == 0, result.output
    return {status: count for status, count in json.loads(result.stdout)["counts"].items() if count}


def test_our_properties_are_removed_and_those_of_others_stay(bucket: Bucket, pushed: Name) -> None:
    before = bucket.open().load_table(pushed).metadata_location
    assert counts(clean("--json", "--dry-run")) == {"updated": 1}
    assert bucket.open().load_table(pushed).metadata_location == before
    assert counts(clean("--json")) == {"updated": 1}
    assert bucket.properties(pushed).items() >= FOREIGN.items()
    assert bucket.lineage(pushed) == {}
    assert counts(clean("--json")) == {}


def test_a_table_is_named_with_its_catalog(bucket: Bucket, pushed: Name) -> None:
    other = f"s3tables.{pushed[0]}.other"
    result = clean("--table", f"s3tables.{pushed[0]}.orders", "--table", other)
    assert result.exit_code == 0, result.output
    assert f"updated    s3tables.{pushed[0]}.orders  lineage removed" in result.stdout
    assert f"unchanged  {other}  it carries no lineage of ours" in result.stdout
    missing = clean("--table", f"s3tables.{pushed[0]}.gone")
    assert missing.exit_code == 1
    assert f"s3tables.{pushed[0]}.gone" in missing.stdout


def test_the_lineage_of_another_instance_stays_until_it_is_taken_over(bucket: Bucket, pushed: Name) -> None:
    catalog: RestCatalog = bucket.open()
    with catalog.load_table(pushed).transaction() as transaction:
        transaction.set_properties({KEY_OWNER: "theirs"})
    refused = clean("--table", f"s3tables.{pushed[0]}.orders")
    assert refused.exit_code == 1
    assert "belongs to another instance, theirs" in refused.stdout
    assert counts(clean("--json", "--take-over")) == {"updated": 1}


def test_a_catalog_that_is_turned_off_is_left_alone(
    bucket: Bucket, pushed: Name, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICEBERG_ENABLED", "false")
    assert counts(clean("--json")) == {}
    assert bucket.lineage(pushed)


def test_a_catalog_that_cannot_be_reached_is_named(
    pushed: Name, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICEBERG_REST_URI", "http://127.0.0.1:9/iceberg")
    result = clean()
    assert result.exit_code == 1
    assert "failed     s3tables.*" in result.stdout
    assert "Check uri" in result.stdout
    assert bucket.lineage(pushed)


def test_each_namespace_that_cannot_be_read_is_named(
    pushed: Name, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICEBERG_NAMESPACE", f"gone_1,{pushed[0]},gone_2")
    result = clean()
    assert result.exit_code == 1
    assert "gone_1" in result.stdout
    assert "gone_2" in result.stdout
    assert not bucket.lineage(pushed)
