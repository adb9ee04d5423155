"""The trust policy of the role that Confluent assumes."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.api.org import ProviderIntegration
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.iam.scope import EXTERNAL_ID, PRINCIPAL
from lineage_bridge_dagster.operations.iam.trust import Trust, trust_of, wanted_integrations
from lineage_bridge_dagster_tests.catalogs.glue.graphs import tableflow_node


def integration(name: str) -> ProviderIntegration:
    return ProviderIntegration.model_validate(
        {
            "id": name,
            "display_name": f"{name} in aws",
            "config": {
                "kind": "AwsIntegrationConfig",
                "iam_role_arn": f"arn:aws:iam::999999999999:role/{name}",
                "external_id": f"external-{name}",
                "customer_iam_role_arn": "arn:aws:iam::111122223333:role/data/tableflow",
            },
        }
    )


def test_role_is_assumed_with_the_external_id_alone() -> None:
    assume, tag = trust_of([integration("cspi-1")]).document()["Statement"]
    assert assume["Principal"] == {"AWS": "arn:aws:iam::999999999999:role/cspi-1"}
    assert assume["Action"] == "sts:AssumeRole"
    assert assume["Condition"] == {"StringEquals": {"sts:ExternalId": "external-cspi-1"}}
    assert tag["Action"] == "sts:TagSession"


def test_role_has_the_name_that_the_integration_expects() -> None:
    trust = trust_of([integration("cspi-1")])
    assert (trust.role_name, trust.role_path) == ("tableflow", "/data/")
    assert Trust(role_arn="arn:aws:iam::111122223333:role/tableflow").role_path == "/"
    assert Trust().role_path == "/"


def test_integration_that_tableflow_uses_is_chosen() -> None:
    graph = Graph([tableflow_node("orders", provider_integration_id="cspi-2")])
    found = trust_of([integration("cspi-1"), integration("cspi-2")], wanted_integrations(graph))
    assert found.external_id == "external-cspi-2"


def test_several_integrations_are_never_chosen_from() -> None:
    with pytest.raises(ConfigurationError, match=r"cspi-1 .*, cspi-2") as caught:
        trust_of([integration("cspi-1"), integration("cspi-2")])
    assert "--provider-integration cspi-1" in caught.value.hint


def test_unknown_integration_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ConfigurationError, match=r"no provider integration cspi-9.*cspi-1"):
        trust_of([integration("cspi-1")], {"cspi-9"})


def test_without_integrations_placeholders_are_left() -> None:
    trust = trust_of([])
    assert (trust.principal, trust.external_id) == (PRINCIPAL, EXTERNAL_ID)
