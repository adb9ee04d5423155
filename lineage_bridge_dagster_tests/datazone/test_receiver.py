"""Events in a DataZone domain."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.datazone.domain import DataZoneDomain, datazone_client
from lineage_bridge_dagster.datazone.events import MAX_EVENT_BYTES, prepared
from lineage_bridge_dagster.datazone.receiver import DataZoneReceiver
from lineage_bridge_dagster.datazone.settings import DataZoneSettings
from lineage_bridge_dagster.openlineage.emission import Arrival, EventRefused, ReceiverDown
from lineage_bridge_dagster_tests.datazone.service import DOMAIN, DataZoneService

GLUE = "arn:aws:glue:eu-west-1:123456789012"
TABLE = f"{GLUE}:table/lake/orders"
KAFKA = "kafka://b-1.example:9092"


def event(*, table: str = "orders", sql: str = "", columns: int = 1, inputs: int = 1) -> dict[str, Any]:
    names = [f"topic{number}" for number in range(inputs)]
    fields = {
        f"c{number}": {"inputFields": [{"namespace": KAFKA, "name": names[0], "field": "x"}]}
        for number in range(columns)
    }
    return {
        "eventTime": "2026-04-30T12:00:00Z",
        "eventType": "RUNNING",
        "run": {"runId": "0192e356-abdd-7713-af1e-1a41cc84e552"},
        "job": {
            "namespace": "confluent://env-1/lkc-1",
            "name": f"tableflow.{table}",
            "facets": {"sql": {"query": sql}} if sql else {},
        },
        "inputs": [{"namespace": KAFKA, "name": name, "facets": {}} for name in names],
        "outputs": [
            {
                "namespace": GLUE,
                "name": f"table/lake/{table}",
                "facets": {"columnLineage": {"fields": fields}},
            }
        ],
        "producer": "https://example.com",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }


class Clock:
    """A clock that goes on when somebody sleeps."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def send(domain: DataZoneDomain, *events: dict[str, Any], **settings: Any) -> list[Arrival]:
    clock = Clock()
    given = DataZoneSettings(domain=domain.domain, **settings)
    receiver = DataZoneReceiver(domain, given, sleep=clock.sleep, clock=clock)
    for each in events:
        receiver.send(each)
    return list(receiver.confirm().values())


def test_our_event_links_to_the_imported_table_and_one_in_the_standard_naming_does_not(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    arn = service.import_glue("eu-west-1", "123456789012", "lake", "orders")
    assert arn == TABLE
    domain.post(json.dumps(event()).encode(), "standard")
    list(domain.events(datetime(2026, 1, 1, tzinfo=UTC)))
    assert not service.linked(TABLE)
    assert domain.sources(TABLE) == 0

    (arrival,) = send(domain, event())
    assert (arrival.refused, arrival.note) == ("", "linked")
    assert service.linked(TABLE)


def test_what_is_posted_names_glue_tables_alike_everywhere() -> None:
    given = event()
    lineage = given["outputs"][0]["facets"]["columnLineage"]["fields"]["c0"]["inputFields"]
    lineage.append({"namespace": GLUE, "name": "table/lake/source", "field": "y"})
    body = json.loads(prepared(given).body)
    assert (body["outputs"][0]["namespace"], body["outputs"][0]["name"]) == (f"{GLUE}:table", "lake/orders")
    columns = body["outputs"][0]["facets"]["columnLineage"]["fields"]["c0"]["inputFields"]
    assert [(each["namespace"], each["name"]) for each in columns] == [
        (KAFKA, "topic0"),
        (f"{GLUE}:table", "lake/source"),
    ]
    assert body["inputs"] == given["inputs"]


def test_an_event_has_arrived_once_the_domain_has_processed_it(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    service.slow = 3
    (arrival,) = send(domain, event())
    assert arrival.refused == ""
    assert service.counts["ListLineageEvents"] == 4


def test_an_event_that_takes_long_is_looked_for_the_next_time_and_not_posted_twice(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    service.slow = 1000
    with pytest.raises(ReceiverDown, match="not processed 1 of the events"):
        send(domain, event(), wait_seconds=30)
    service.slow = 0
    later = {**event(), "eventTime": "2026-05-01T12:00:00Z"}
    assert send(domain, later)[0].refused == ""
    assert len(service.events) == 1


def test_an_event_that_the_list_does_not_show_is_asked_for(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    send(domain, event())
    service.age(timedelta(days=400))
    assert send(domain, event())[0].refused == ""
    assert service.counts["GetLineageEvent"] == 1


def test_an_event_that_failed_is_posted_anew(service: DataZoneService, domain: DataZoneDomain) -> None:
    service.failing = 1
    assert "failed to process" in send(domain, event())[0].refused
    service.age(timedelta(hours=1))
    assert send(domain, event())[0].refused == ""
    assert len(service.events) == 2


def test_more_events_than_a_page_holds_are_found(service: DataZoneService, domain: DataZoneDomain) -> None:
    arrivals = send(domain, *(event(table=f"t{number}") for number in range(120)))
    assert [arrival.note for arrival in arrivals] == ["linked"] * 120
    assert service.counts["ListLineageEvents"] == 3


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("PostLineageEvent", "AccessDeniedException"),
        ("PostLineageEvent", "UnauthorizedException"),
        ("PostLineageEvent", "ResourceNotFoundException"),
        ("ListLineageEvents", "AccessDeniedException"),
    ],
)
def test_a_domain_that_refuses_us_takes_no_event(
    service: DataZoneService, domain: DataZoneDomain, operation: str, code: str
) -> None:
    service.errors[operation] = [code]
    with pytest.raises(ReceiverDown, match=f"datazone:{operation} on the domain dzd_.* (Allow|Add|Check) "):
        send(domain, event())


@pytest.mark.parametrize(
    "code",
    [
        "ThrottlingException",
        "ServiceQuotaExceededException",
        "InternalServerException",
        "ConflictException",
        "ValidationException",
    ],
)
def test_an_event_that_is_refused_costs_no_other(
    service: DataZoneService, domain: DataZoneDomain, code: str
) -> None:
    service.errors["PostLineageEvent"] = [code]
    receiver = DataZoneReceiver(domain, DataZoneSettings(domain=DOMAIN))
    with pytest.raises(EventRefused, match=code):
        receiver.send(event())
    receiver.send(event(table="items"))
    assert [job.name for job in receiver.confirm()] == ["tableflow.items"]


def test_a_list_that_fails_once_is_asked_again(service: DataZoneService, domain: DataZoneDomain) -> None:
    service.errors["ListLineageEvents"] = ["InternalServerException"]
    assert send(domain, event())[0].refused == ""


def test_a_table_that_could_not_be_looked_up_is_neither_linked_nor_unlinked(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    service.errors["GetLineageNode"] = ["ThrottlingException"]
    assert send(domain, event())[0].note == ""


@pytest.mark.usefixtures("keys")
def test_an_unreachable_service_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DATAZONE", "http://127.0.0.1:9")
    away = DataZoneDomain(datazone_client(AwsSettings(region="eu-west-1"), 1), DOMAIN)
    with pytest.raises(ReceiverDown, match="AWS_ENDPOINT_URL_DATAZONE"):
        send(away, event())


@pytest.mark.parametrize(
    ("given", "left_out"),
    [
        (event(), ()),
        (event(sql="x" * MAX_EVENT_BYTES), ("the SQL",)),
        (event(columns=5_000), ("the lineage of columns",)),
        (event(sql="x" * 1000, columns=5_000), ("the SQL", "the lineage of columns")),
    ],
)
def test_what_does_not_fit_is_left_out_and_told(given: dict[str, Any], left_out: tuple[str, ...]) -> None:
    found = prepared(given)
    assert found.left_out == left_out
    assert len(found.body) <= MAX_EVENT_BYTES
    assert found.tables == (TABLE,)


def test_datasets_are_never_left_out(domain: DataZoneDomain) -> None:
    receiver = DataZoneReceiver(domain, DataZoneSettings(domain=DOMAIN))
    with pytest.raises(EventRefused, match="8000 inputs"):
        receiver.send(event(inputs=8_000))
    receiver.send(event(table="items"))
    assert [job.name for job in receiver.confirm()] == ["tableflow.items"]


def test_what_was_left_out_is_told(domain: DataZoneDomain) -> None:
    (arrival,) = send(domain, event(sql="x" * MAX_EVENT_BYTES))
    assert arrival.note == "without the SQL, for its size; linked"
