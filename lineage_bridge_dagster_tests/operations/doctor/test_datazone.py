"""The check of the DataZone domain."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.operations.doctor import openlineage
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.datazone.service import DOMAIN, DataZoneService
from lineage_bridge_dagster_tests.operations.doctor.examined import context_of, examine

ON = {"LINEAGE_BRIDGE_DATAZONE_DOMAIN": DOMAIN, "LINEAGE_BRIDGE_AWS_REGION": "eu-west-1"}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


@pytest.mark.parametrize(
    ("errors", "variables", "status", "remedy"),
    [
        ([], {}, CheckStatus.OK, ""),
        (["AccessDeniedException"] * 4, {}, CheckStatus.FAILED, "Allow datazone:ListLineageEvents"),
        (["UnauthorizedException"] * 4, {}, CheckStatus.FAILED, "users or roles of the domain"),
        ([], {"LINEAGE_BRIDGE_DATAZONE_TOPIC_ASSET_TYPE": "T"}, CheckStatus.FAILED, "Set datazone.project"),
    ],
)
def test_a_domain_that_refuses_us_is_found_without_a_post(
    monkeypatch: pytest.MonkeyPatch,
    errors: list[str],
    variables: dict[str, str],
    status: CheckStatus,
    remedy: str,
) -> None:
    service = DataZoneService()
    service.errors["ListLineageEvents"] = errors
    with service.serve() as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DATAZONE", endpoint)
        (found,) = examine(openlineage.domain, context_of({**ON, **variables}))
    assert (found.status, remedy in found.remedy) == (status, True), found
    assert set(service.calls) == {"ListLineageEvents"}


def test_nothing_is_asked_without_a_domain() -> None:
    (found,) = examine(openlineage.domain, context_of({}))
    assert found.status is CheckStatus.SKIPPED
