"""The plan of a push to an Iceberg table's properties."""

from __future__ import annotations

from lineage_bridge_dagster.catalogs.plans import Hold, NoChange, Refuse, TableRevision
from lineage_bridge_dagster.catalogs.rest.properties_plan import PropertiesCommit, plan_properties
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.documents import (
    KEY_DIGEST,
    KEY_LAST_SYNCED,
    KEY_OWNER,
    KEY_UPSTREAM_CHAIN,
    LineageDocument,
    render,
)
from lineage_bridge_dagster_tests.catalogs.rest.tables import FOREIGN, chain

NOW, LATER = "2026-04-30T12:34:56.789Z", "2026-05-01T00:00:00.000Z"
SETTINGS = PushSettings()


def table(**properties: str) -> TableRevision:
    return TableRevision("s3://bucket/00001.metadata.json", {**FOREIGN, **properties}, uuid="uuid-1")


def document(**options: object) -> LineageDocument:
    return render(chain(**options), SETTINGS)


def commit(state: TableRevision, wanted: LineageDocument | None, complete: bool = True) -> PropertiesCommit:
    plan = plan_properties(state, wanted, SETTINGS, complete=complete, now=NOW)
    assert isinstance(plan, PropertiesCommit), plan
    return plan


def pushed(**options: object) -> TableRevision:
    return table(**commit(table(), document(**options)).lineage)


def test_a_commit_names_the_whole_document_and_only_our_keys() -> None:
    stale = table(**{"lineage_bridge.old": "1"})
    plan = commit(stale, document())
    assert {KEY_UPSTREAM_CHAIN, KEY_DIGEST, KEY_LAST_SYNCED} <= plan.lineage.keys()
    assert plan.removed == ("lineage_bridge.old",)
    assert FOREIGN.items() <= plan.after.parameters.items()
    assert "lineage_bridge.old" not in plan.after.parameters


def test_a_table_in_sync_gets_no_commit_later() -> None:
    plan = plan_properties(pushed(), document(), SETTINGS, complete=True, now=LATER)
    assert isinstance(plan, NoChange)


def test_a_value_that_somebody_changed_is_written_again() -> None:
    changed = table(**{**pushed().lineage, KEY_UPSTREAM_CHAIN: "[]"})
    assert commit(changed, document()).lineage[KEY_UPSTREAM_CHAIN] != "[]"


def test_a_removal_takes_all_of_ours_and_nothing_else() -> None:
    plan = commit(pushed(), None)
    assert plan.removal
    assert plan.after.parameters == FOREIGN
    left = table(**{KEY_LAST_SYNCED: NOW})
    assert commit(left, None).removed == (KEY_LAST_SYNCED,)
    assert isinstance(plan_properties(table(), None, SETTINGS, complete=True, now=NOW), NoChange)


def test_an_incomplete_discovery_removes_nothing_and_may_add() -> None:
    removal = plan_properties(pushed(), None, SETTINGS, complete=False, now=LATER)
    shorter = plan_properties(pushed(), document(connector=None), SETTINGS, complete=False, now=LATER)
    assert isinstance(removal, Hold)
    assert isinstance(shorter, Hold)
    assert "debezium-pg" in shorter.reason
    assert commit(pushed(connector=None), document(), complete=False).lineage


def test_without_parameters_nothing_is_written_or_removed() -> None:
    without = PushSettings(set_parameters=False)
    for wanted in (document(), None):
        assert isinstance(plan_properties(pushed(), wanted, without, complete=True, now=NOW), NoChange)


def test_a_table_of_another_instance_is_refused_until_it_is_taken_over() -> None:
    ours, theirs = PushSettings(owner="ours"), PushSettings(owner="theirs")
    first = plan_properties(table(), document(), theirs, complete=True, now=NOW)
    assert isinstance(first, PropertiesCommit)
    assert first.lineage[KEY_OWNER] == "theirs"
    owned = table(**first.lineage)
    for wanted in (document(), None):
        refused = plan_properties(owned, wanted, ours, complete=True, now=LATER)
        assert isinstance(refused, Refuse)
        assert "theirs" in refused.reason
    taking = ours.model_copy(update={"take_over": True})
    taken = plan_properties(owned, document(), taking, complete=True, now=LATER)
    assert isinstance(taken, PropertiesCommit)
    assert taken.lineage[KEY_OWNER] == "ours"
