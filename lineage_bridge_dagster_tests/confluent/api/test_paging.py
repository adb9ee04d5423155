from __future__ import annotations

import httpx
import pytest

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import MalformedResponse, PartialResponse, UntrustedAddress
from lineage_bridge_dagster.confluent.api.paging import list_items
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import (
    API,
    Answer,
    FakeConfluent,
    failure,
    garbage,
    in_turn,
    listing,
    timeout,
)

CLOUD = Access("confluent_cloud")
PATH = "/org/v2/environments"


def pages(session: ConfluentSession) -> list[object]:
    return list_items(session, session.control_url(PATH), CLOUD)


@pytest.mark.parametrize("end", [{"next": None}, {"next": ""}, {}, None])
def test_null_empty_or_absent_next_is_the_end(
    fake: FakeConfluent, session: ConfluentSession, end: object
) -> None:
    fake.routes[PATH] = {"data": [{"id": "env-1"}], **({} if end is None else {"metadata": end})}
    assert pages(session) == [{"id": "env-1"}]
    assert fake.requests[0].url.params["page_size"] == "100"


def test_pages_are_followed_by_url(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = in_turn(
        listing(1, following=f"{API}{PATH}?page_size=100&page_token=a%3D"),
        listing(2, following=f"{PATH}?page_token=b"),
        listing(3),
    )
    assert pages(session) == [1, 2, 3]
    assert fake.requests[1].url.params["page_token"] == "a="


def test_a_next_page_that_names_its_token_alone_keeps_the_filters(
    fake: FakeConfluent, session: ConfluentSession
) -> None:
    fake.routes[PATH] = in_turn(listing(1, following=f"{PATH}?page_token=a"), listing(2))
    assert list_items(session, session.control_url(PATH), CLOUD, {"environment": "env-1"}) == [1, 2]
    asked = dict(fake.requests[1].url.params)
    assert asked == {"page_token": "a", "environment": "env-1", "page_size": "100"}


def test_an_empty_page_in_the_middle_is_not_the_end(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = in_turn(
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
        "http://api.confluent.cloud/org/v2/environments?page_token=x",
        "//evil.example/x?page_token=x",
        "ftp://api.confluent.cloud/x",
    ],
)
def test_no_key_goes_to_a_foreign_next_page(
    fake: FakeConfluent, session: ConfluentSession, following: str
) -> None:
    fake.routes[PATH] = listing(1, following=following)
    with pytest.raises(PartialResponse) as raised:
        pages(session)
    assert raised.value.items == [1]
    assert isinstance(raised.value.cause, UntrustedAddress)
    assert len(fake.requests) == 1


def test_another_host_of_the_vendor_is_followed(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = in_turn(
        listing(1, following=f"https://eu.api.confluent.cloud{PATH}?page_token=a"), listing(2)
    )
    assert pages(session) == [1, 2]


def test_a_circle_of_pages_ends(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = listing(1, following=f"{API}{PATH}?page_token=same")
    with pytest.raises(PartialResponse, match="circle") as raised:
        pages(session)
    assert raised.value.items == [1, 1]
    assert len(fake.requests) == 2


@pytest.mark.parametrize("answer", [failure(500), failure(403), garbage, timeout, {"data": "no list"}])
def test_half_a_list_is_told_as_half(
    fake: FakeConfluent, session: ConfluentSession, answer: Answer | object
) -> None:
    fake.routes[PATH] = in_turn(listing(1, following=f"{API}{PATH}?page_token=a"), answer)
    with pytest.raises(PartialResponse) as raised:
        pages(session)
    assert raised.value.items == [1]


@pytest.mark.parametrize(
    "body", [[], "text", 5, {}, {"data": {}}, {"data": 1}, {"data": [], "metadata": {"next": 7}}]
)
def test_a_list_of_the_wrong_shape_names_path_and_field(
    fake: FakeConfluent, session: ConfluentSession, body: object
) -> None:
    fake.routes[PATH] = lambda _: httpx.Response(200, json=body)
    with pytest.raises(MalformedResponse, match=f"{PATH}.*(data|next|object)"):
        pages(session)
