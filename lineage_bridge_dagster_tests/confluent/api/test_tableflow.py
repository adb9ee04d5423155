from __future__ import annotations

from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.api.tableflow import TableflowTopic, list_tableflow
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, listing


def test_required_filters_are_sent(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes["/tableflow/v1/tableflow-topics"] = listing()
    list_tableflow(session, TableflowTopic, "env-1", "lkc-a")
    assert dict(fake.requests[0].url.params) == {
        "environment": "env-1",
        "spec.kafka_cluster": "lkc-a",
        "page_size": "100",
    }
