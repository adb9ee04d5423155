from __future__ import annotations

import httpx
import pytest

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import MalformedResponse, PartialResponse, UntrustedAddress
from lineage_bridge_dagster.confluent.api.paging import list_items
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import (
    API,
    FakeConfluent,
    Responder,
    failure,
    garbage,
    in_sequence,
    listing,
    timeout,
)

CLOUD = Access("confluent_cloud")
PATH = "/org/v2/environments"


def pages(session: ConfluentSession) -> list[object]:
    return list_items(session, session.control_url(PATH), CLOUD)


def test_null_in_a_complete_answer_is_an_empty_list(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = {"data": None, "metadata": {"total_size": 0}}
    assert pages(session) == []


@pytest.mark.parametrize("end", [{"next": None}, {"next": ""}, {}])
def test_null_empty_or_absent_next_ends_the_list(
    fake: FakeConfluent, session: ConfluentSession, end: object
) -> None:
    fake.routes[PATH] = {"data": [{"id": "env-1"}], "metadata": end}
    assert pages(session) == [{"id": "env-1"}]
    assert fake.requests[0].url.params["page_size"] == "100"


def test_pages_are_followed_by_url(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = in_sequence(
        listing(1, following=f"{API}{PATH}?page_size=100&page_token=a%3D"),
        listing(2, following=f"{PATH}?page_token=b"),
        listing(3),
    )
    assert pages(session) == [1, 2, 3]
    assert fake.requests[1].url.params["page_token"] == "a="


def test_next_page_that_names_only_its_token_keeps_the_filters(
    fake: FakeConfluent, session: ConfluentSession
) -> None:
    fake.routes[PATH] = in_sequence(listing(1, following=f"{PATH}?page_token=a"), listing(2))
    assert list_items(session, session.control_url(PATH), CLOUD, {"environment": "env-1"}) == [1, 2]
    params = dict(fake.requests[1].url.params)
    assert params == {"page_token": "a", "environment": "env-1", "page_size": "100"}


def test_empty_page_in_the_middle_does_not_end_the_list(
    fake: FakeConfluent, session: ConfluentSession
) -> None:
    fake.routes[PATH] = in_sequence(
        listing(1, following=f"{API}{PATH}?page_token=a"),
        listing(following=f"{API}{PATH}?page_token=b"),
        listing(3),
    )
    assert pages(session) == [1, 3]


@pytest.mark.parametrize(
    "following",
    [
        "https://evil.example/org/v2/environments?page_token=x",
        "https://api.confluent.cloud.evil.example/x?page_token=x",
        "https://api.confluent.cloud@evil.example/x?page_token=x",
        "https://user:password@api.confluent.cloud/org/v2/environments?page_token=x",
        "//user:password@api.confluent.cloud/org/v2/environments?page_token=x",
        "https://user:password@eu.api.confluent.cloud/org/v2/environments?page_token=x",
        "http://api.confluent.cloud/org/v2/environments?page_token=x",
        "//evil.example/x?page_token=x",
        "ftp://api.confluent.cloud/x",
    ],
)
def test_untrusted_next_page_gets_no_key(
    fake: FakeConfluent, session: ConfluentSession, following: str
) -> None:
    fake.routes[PATH] = listing(1, following=following)
    with pytest.raises(PartialResponse) as raised:
        pages(session)
    assert raised.value.items == [1]
    assert isinstance(raised.value.cause, UntrustedAddress)
    assert len(fake.requests) == 1


def test_next_page_on_another_vendor_host_is_followed(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = in_sequence(
        listing(1, following=f"https://eu.api.confluent.cloud{PATH}?page_token=a"), listing(2)
    )
    assert pages(session) == [1, 2]


def test_circular_pages_end(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = listing(1, following=f"{API}{PATH}?page_token=same")
    with pytest.raises(PartialResponse, match="circle") as raised:
        pages(session)
    assert raised.value.items == [1, 1]
    assert len(fake.requests) == 2


@pytest.mark.parametrize("respond", [failure(500), failure(403), garbage, timeout, {"data": "no list"}])
def test_failing_later_page_makes_a_partial_response(
    fake: FakeConfluent, session: ConfluentSession, respond: Responder | object
) -> None:
    fake.routes[PATH] = in_sequence(listing(1, following=f"{API}{PATH}?page_token=a"), respond)
    with pytest.raises(PartialResponse) as raised:
        pages(session)
    assert raised.value.items == [1]


@pytest.mark.parametrize(
    "body",
    [
        *([], "text", 5, False, {}, {"error_code": 50001, "message": "internal"}),
        *({"data": data, "metadata": {}} for data in (None, {}, {"0": {"id": "env-1"}}, 1, 0, "", "none")),
        {"data": []},
        *({"data": [], "metadata": metadata} for metadata in (None, [], "", "next", 0, False)),
        *({"data": [], "metadata": {"next": value}} for value in (7, 0, False, [], {}, ["a"])),
    ],
)
def test_malformed_list_names_path_and_field(
    fake: FakeConfluent, session: ConfluentSession, body: object
) -> None:
    fake.routes[PATH] = lambda _: httpx.Response(200, json=body)
    with pytest.raises(MalformedResponse, match=f"{PATH}.*(data|next|object)"):
        pages(session)
