"""Scripted faults and request counts."""

from __future__ import annotations

import httpx
import pytest

from lineage_bridge_dagster.embedded.confluent.faults import ApiFault
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator

ENVIRONMENTS = "/org/v2/environments"


def test_fault_applies_to_its_api_the_configured_number_of_times(
    emulator: ConfluentEmulator, call: Caller
) -> None:
    with emulator.fault(api="org", status=500, after=1, times=2):
        assert [call(ENVIRONMENTS).status_code for _ in range(4)] == [200, 500, 500, 200]
        assert call(f"/cmk/v2/clusters?{paths.ENV}").status_code == 200


def test_fault_without_times_lasts_until_cleared(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.fault(api="connect", status=503):
        statuses = {call(f"{paths.CONNECT}/{paths.US}/connectors").status_code for _ in range(5)}
        assert statuses == {503}
        with emulator.client() as client:
            assert client.get("/emulator/faults").json()[0]["met"] == 5
    assert call(f"{paths.CONNECT}/{paths.US}/connectors").status_code == 200


def test_fault_can_select_a_path(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.fault(api="connect", path=paths.EU, status=403):
        assert call(f"{paths.CONNECT}/{paths.EU}/connectors").status_code == 403
        assert call(f"{paths.CONNECT}/{paths.US}/connectors").status_code == 200


def test_delay_can_exceed_the_clients_timeout(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.fault(api="org", delay=30), pytest.raises(httpx.ReadTimeout):
        call(ENVIRONMENTS, timeout=0.2)
    assert call(ENVIRONMENTS).status_code == 200


def test_requests_are_counted_by_api(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.client() as client:
        client.delete("/emulator/requests").raise_for_status()
        call(ENVIRONMENTS)
        call(f"{paths.KAFKA_US}/topics")
        call(f"{paths.KAFKA_EU}/topics")
        counts = client.get("/emulator/requests").json()
    assert counts["org"] == 1
    assert counts["kafka"] == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"api": "nothing", "status": 500}, "api must be one of"),
        ({"api": "org"}, "no effect"),
        ({"api": "org", "staus": 500}, "unknown fields: staus"),
    ],
)
def test_invalid_fault_is_rejected(
    emulator: ConfluentEmulator, body: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ApiFault.parse(body)
    with emulator.client() as client:
        response = client.post("/emulator/faults", json=body)
    assert response.status_code == 400
    assert message in response.text
