from __future__ import annotations

from lineage_bridge_dagster.confluent.api.org import aws_integrations
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, listing


def test_integrations_with_aws_are_listed_by_environment(
    fake: FakeConfluent, session: ConfluentSession
) -> None:
    aws = {
        "kind": "AwsIntegrationConfig",
        "iam_role_arn": "arn:aws:iam::000000000000:role/confluent",
        "external_id": "95f1fc8b-8bd8-4dc8-8a4c-1d4b5d2d8a6e",
        "customer_iam_role_arn": "arn:aws:iam::111122223333:role/tableflow",
    }
    fake.routes["/pim/v1/integrations"] = listing(
        {"id": "cspi-1", "display_name": "tables", "config": aws},
        {"id": "cspi-2", "config": {"kind": "AnotherConfig"}},
    )
    (found,) = aws_integrations(session, "env-1")
    assert (found.id, found.config.iam_role_arn) == ("cspi-1", aws["iam_role_arn"])
    assert found.config.external_id == aws["external_id"]
    assert fake.requests[0].url.params["environment"] == "env-1"
