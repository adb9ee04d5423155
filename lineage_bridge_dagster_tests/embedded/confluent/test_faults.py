"""Failures on request."""

from __future__ import annotations

import httpx
import pytest

from lineage_bridge_dagster.embedded.confluent.faults import Fault
from lineage_bridge_dagster.embedded.confluent.server import ConfluentEmulator
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller

ENVIRONMENTS = "/org/v2/environments"


def test_a_fault_meets_its_api_as_often_as_asked(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.fault(api="org", status=500, after=1, times=2):
        assert [call(ENVIRONMENTS).status_code for _ in range(4)] == [200, 500, 500, 200]
        assert call(f"/cmk/v2/clusters?{paths.ENV}").status_code == 200


def test_a_fault_without_times_lasts_until_it_is_cleared(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.fault(api="connect", status=503):
        statuses = {call(f"{paths.CONNECT}/{paths.US}/connectors").status_code for _ in range(5)}
        assert statuses == {503}
        with emulator.client() as client:
            assert client.get("/emulator/faults").json()[0]["met"] == 5
    assert call(f"{paths.CONNECT}/{paths.US}/connectors").status_code == 200


def test_a_fault_can_be_for_one_resource(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.fault(api="connect", path=paths.EU, status=403):
        assert call(f"{paths.CONNECT}/{paths.EU}/connectors").status_code == 403
        assert call(f"{paths.CONNECT}/{paths.US}/connectors").status_code == 200


def test_a_page_past_the_first_can_fail(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.fault(api="tableflow", partial_page=True):
        first = call(f"{paths.TOPICS_US}&page_size=2")
        assert first.status_code == 200
        following = first.json()["metadata"]["next"].removeprefix(emulator.url)
        assert call(following).status_code == 500


def test_an_answer_can_be_garbage(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.fault(api="flink", garbage=True):
        answer = call(f"{paths.FLINK_US}/statements")
    assert answer.status_code == 200
    with pytest.raises(ValueError, match="Expecting value"):
        answer.json()


def test_a_delay_outlasts_a_client_that_waits_less(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.fault(api="org", delay=30), pytest.raises(httpx.ReadTimeout):
        call(ENVIRONMENTS, timeout=0.2)
    assert call(ENVIRONMENTS).status_code == 200


def test_the_rate_limit_is_one(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.client() as client:
        before = client.post("/emulator/options", json={}).json()
        client.post("/emulator/options", json={"rate_limit": 0}).raise_for_status()
        try:
            answer = call(ENVIRONMENTS)
        finally:
            client.post("/emulator/options", json=before).raise_for_status()
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert answer.headers["X-RateLimit-Remaining"] == "0"
    assert call(ENVIRONMENTS).status_code == 200


def test_requests_are_counted_by_api(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.client() as client:
        client.delete("/emulator/requests").raise_for_status()
        call(ENVIRONMENTS)
        call(f"{paths.KAFKA_US}/topics")
        call(f"{paths.KAFKA_EU}/topics")
        counted = client.get("/emulator/requests").json()
    assert counted["org"] == 1
    assert counted["kafka"] == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"api": "nothing", "status": 500}, "api must be one of"),
        ({"api": "org"}, "no effect"),
        ({"api": "org", "staus": 500}, "unknown fields: staus"),
    ],
)
def test_a_fault_that_is_none_is_refused(
    emulator: ConfluentEmulator, body: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Fault.parse(body)
    with emulator.client() as client:
        answer = client.post("/emulator/faults", json=body)
    assert answer.status_code == 400
    assert message in answer.text
