"""Two instances that push to the same tables."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.catalogs.glue.update_plan import plan_update
from lineage_bridge_dagster.catalogs.plans import NoChange, Refuse
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient, glue_table
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table, glue_node
from lineage_bridge_dagster_tests.catalogs.glue.plans import LATER, after, document, update
from lineage_bridge_dagster_tests.catalogs.glue.runs import cleaning as new_cleaning
from lineage_bridge_dagster_tests.catalogs.glue.runs import graph_of, push

OWNER = "lineage_bridge.owner"
FIRST = {"owner": "first"}
SECOND = {"owner": "second"}


@pytest.mark.parametrize("connector", ["debezium-pg", None], ids=["the same lineage", "other lineage"])
def test_a_second_instance_refuses_and_names_the_first(
    client: GlueClient, catalog: Catalog, connector: str | None
) -> None:
    catalog.create("orders.v1")
    push(client, graph_of(), settings=FIRST)
    before = catalog.table("orders.v1")
    assert before["Parameters"][OWNER] == "first"
    (result,) = push(client, graph_of(connector=connector), settings=SECOND).results
    assert result.status == "refused"
    assert "belongs to another instance, first" in result.reason
    assert "--take-over" in result.hint
    assert catalog.table("orders.v1") == before
    assert push(client, graph_of(), settings=FIRST).counts["unchanged"] == 1


def test_told_to_take_over_it_does_and_the_first_refuses(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    push(client, graph_of(), settings=FIRST)
    taken = push(client, graph_of(), settings={**SECOND, "take_over": True})
    assert taken.counts["updated"] == 1
    assert {f"- {OWNER}: first", f"+ {OWNER}: second"} <= set(taken.results[0].diff)
    assert catalog.parameters("orders.v1")[OWNER] == "second"
    assert push(client, graph_of(), settings={**SECOND, "take_over": True}).counts["unchanged"] == 1
    assert push(client, graph_of(), settings=FIRST).counts["refused"] == 1


def test_lineage_from_before_there_were_owners_is_adopted_without_a_write() -> None:
    pushed = after(update(glue_table(), document()))
    assert OWNER not in pushed.parameters
    options = PushSettings(owner="first")
    assert isinstance(plan_update(pushed, document(), options, complete=True, now=LATER), NoChange)
    # Its next change names the owner.
    assert update(pushed, document(connector=None), options).parameters[OWNER] == "first"


def test_the_digest_does_not_depend_on_the_owner() -> None:
    digests = {
        update(glue_table(), document(), PushSettings(owner=owner)).parameters["lineage_bridge.digest"]
        for owner in ("first", "second", "")
    }
    assert len(digests) == 1


def test_lineage_of_another_instance_is_not_removed(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    push(client, graph_of(), settings=FIRST)
    before = catalog.table("orders.v1")
    orphan = Graph([glue_node("orders.v1")])
    assert push(client, orphan, settings=SECOND).counts["skipped"] == 1
    cleaning = new_cleaning(client, owner="second")
    assert cleaning.remove(cleaning.find()).counts["refused"] == 1
    assert catalog.table("orders.v1") == before
    taking = new_cleaning(client, owner="second", take_over=True)
    assert taking.remove(taking.find()).counts["updated"] == 1
    assert OWNER not in catalog.parameters("orders.v1")


def test_one_that_names_no_owner_leaves_the_tables_of_others_alone() -> None:
    pushed = after(update(glue_table(), document(), PushSettings(owner="first")))
    plan = plan_update(pushed, document(), PushSettings(), complete=True, now=LATER)
    assert isinstance(plan, Refuse)
    assert plan.owner == "first"


def _shared_catalog(client: GlueClient, catalog: Catalog, of_first: int, of_second: int) -> Graph:
    """Two instances push tables of their own into one catalog; return what the second one discovers then,
    after all of its own tables have lost their upstream.
    """
    names = {"first": of_first, "second": of_second}
    found = Graph()
    for owner, count in names.items():
        own = Graph()
        for name in (f"{owner}-{number}" for number in range(count)):
            catalog.create(name)
            add_table(own, name)
        assert push(client, own, settings={"owner": owner}).counts["updated"] == count
        for name in (f"{owner}-{number}" for number in range(count)):
            found.add_node(glue_node(name, parameters=catalog.parameters(name)))
    return found


def test_tables_that_only_another_instance_knows_do_not_fail_a_push(
    client: GlueClient, catalog: Catalog
) -> None:
    found = _shared_catalog(client, catalog, 5, 0)
    catalog.create("second-0")
    add_table(found, "second-0")
    report = push(client, found, settings=SECOND)
    assert report.failed == ()
    assert (report.counts["updated"], report.counts["skipped"]) == (1, 5)
    assert "its lineage belongs to another instance, first" in report.results[0].reason
    assert catalog.parameters("first-0")[OWNER] == "first"


def test_tables_of_another_instance_do_not_hold_back_removals_of_ours(
    client: GlueClient, catalog: Catalog
) -> None:
    found = _shared_catalog(client, catalog, 5, 1)
    report = push(client, found, settings=SECOND)
    assert (report.counts["updated"], report.counts["skipped"]) == (1, 5)
    assert OWNER not in catalog.parameters("second-0")


def test_tables_of_another_instance_do_not_raise_the_number_of_removals(
    client: GlueClient, catalog: Catalog
) -> None:
    found = _shared_catalog(client, catalog, 40, 3)
    report = push(client, found, settings=SECOND)
    assert (report.counts["refused"], report.counts["skipped"]) == (3, 40)
    assert any("3 of 3 tables" in result.reason for result in report.failed)
    assert catalog.parameters("second-0")[OWNER] == "second"
