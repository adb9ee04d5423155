"""Taking all that is ours out of Glue again."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.lineage.push_results import PushReport
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER
from lineage_bridge_dagster_tests.catalogs.glue.runs import cleaning as new_cleaning
from lineage_bridge_dagster_tests.catalogs.glue.runs import created, graph_of, push

#: What a write changes whoever makes it.
_WRITTEN = ("VersionId", "UpdateTime")


def clean(client: GlueClient, *names: str, dry_run: bool = False, **settings: Any) -> PushReport:
    cleaning = new_cleaning(client, **settings)
    return cleaning.remove(cleaning.find(names or None), dry_run=dry_run)


def _lasting(table: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in _WRITTEN}


@pytest.mark.parametrize(
    "description", [None, "Orders of the shop.", "two lines\n\n", "ends with a blank \r\n", "é日本"]
)
def test_a_cleaned_table_is_what_it_was_before_its_first_push(
    client: GlueClient, catalog: Catalog, description: str | None
) -> None:
    changes = {} if description is None else {"Description": description}
    catalog.create("orders.v1", parameters={"lineage": "of others", "owner_note": " keep "}, **changes)
    before = catalog.table("orders.v1")
    assert push(client, graph_of()).counts["updated"] == 1
    report = clean(client)
    assert report.counts["updated"] == 1
    assert report.results[0].reason == "lineage removed"
    assert _lasting(catalog.table("orders.v1")) == _lasting(before)


def test_every_part_goes_whatever_a_push_writes(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    before = catalog.table("orders.v1")
    push(client, graph_of())
    clean(client, set_parameters=False, set_description=False)
    assert _lasting(catalog.table("orders.v1")) == _lasting(before)


def test_remains_that_only_tell_about_a_push_go_as_well(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1", parameters={"lineage_bridge.digest": "1f", "lineage_bridge.last_synced": "T"})
    assert clean(client).counts["updated"] == 1
    assert not [key for key in catalog.parameters("orders.v1") if key.startswith("lineage_bridge.")]


def test_tables_without_our_lineage_are_only_listed(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    catalog.create("theirs", Description="Upstream lineage:\n- of their own")
    push(client, graph_of())
    theirs = catalog.table("theirs")
    report = clean(client)
    assert [result.name for result in report.results] == [f"{CLUSTER}.orders.v1"]
    assert report.calls == {"GetDatabases": 1, "GetTables": 1, "UpdateTable": 1}
    assert catalog.table("theirs") == theirs
    assert not clean(client).results


def test_only_the_named_tables_are_cleaned(client: GlueClient, catalog: Catalog) -> None:
    graph = created(catalog, ("orders.v1", "clicks", "carts"))
    push(client, graph)
    report = clean(client, f"{CLUSTER}.Orders.V1", f"glue://{CLUSTER}/orders.v1", f"{CLUSTER}.gone")
    assert report.counts["updated"] == 1
    assert [result.reason for result in report.failed] == [f"Glue has no table {CLUSTER}.gone."]
    assert "lineage_bridge.digest" not in catalog.parameters("orders.v1")
    assert "lineage_bridge.digest" in catalog.parameters("clicks")
    assert clean(client, f"{CLUSTER}.orders.v1").counts["unchanged"] == 1


def test_a_dry_run_shows_what_would_go_and_writes_nothing(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1", Description="mine")
    push(client, graph_of())
    before = catalog.table("orders.v1")
    report = clean(client, dry_run=True)
    assert report.counts["updated"] == 1
    assert "- lineage_bridge.source_topics: orders.v1" in report.results[0].diff
    assert catalog.table("orders.v1") == before


def test_a_commit_between_read_and_write_is_kept(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    push(client, graph_of())
    cleaning = new_cleaning(client)
    found = cleaning.find()
    location = catalog.commit("orders.v1")
    (result,) = cleaning.remove(found).results
    assert (result.status, result.conflicts) == ("updated", 1)
    parameters = catalog.parameters("orders.v1")
    assert parameters["metadata_location"] == location
    assert "lineage_bridge.digest" not in parameters


def test_a_table_that_is_denied_does_not_stop_the_others(client: GlueClient, catalog: Catalog) -> None:
    graph = created(catalog, ("orders.v1", "clicks"))
    push(client, graph)
    catalog.aws.fail("UpdateTable", code="AccessDeniedException", status=400, times=1)
    report = clean(client)
    assert (report.counts["updated"], report.counts["failed"]) == (1, 1)
    assert "glue:UpdateTable" in report.failed[0].reason + report.failed[0].hint
