from __future__ import annotations

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster_tests.confluent.discovered import ENRICH, ORDERS_A, A, B, Run, edges, node, status
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, environment, listing


def test_environments_and_clusters_are_selected_by_id_or_name(run: Run, world: FakeConfluent) -> None:
    world.routes["/org/v2/environments"] = listing(environment(), environment("env-2", "staging"))
    found = run(environments=["prod"], clusters=["lkc-b"])
    assert not [request for request in world.requests if "env-2" in str(request.url)]
    assert status(found, "kafka", *A) is None
    assert status(found, "kafka", *B) is Status.COMPLETE


def test_unselected_cluster_still_resolves_names_in_sql(run: Run) -> None:
    found = run(clusters=["analytics"])
    assert (ORDERS_A, ENRICH) in edges(found)
    assert node(found, ORDERS_A).attributes["observed"] is False
    assert node(found, ORDERS_A).cluster_name == "orders"


@pytest.mark.parametrize("field", ["environments", "clusters"])
def test_unknown_name_is_rejected_with_the_existing_ones(run: Run, field: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        run(**{field: ["nope"]})
    assert "'nope'" in raised.value.message
    assert ("env-1 (prod)" if field == "environments" else "lkc-a (orders)") in raised.value.hint
    assert f"LINEAGE_BRIDGE_{field.upper()}" in raised.value.hint


def test_incomplete_list_rejects_no_name(run: Run, world: FakeConfluent) -> None:
    world.routes["/org/v2/environments"] = listing(environment(), "malformed")
    found = run(environments=["elsewhere"])
    assert status(found, "environments") is Status.PARTIAL
