from __future__ import annotations

from collections.abc import Callable

import pytest

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import MissingCredential
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, key_of, keys

CLOUD = Access("confluent_cloud")
KAFKA = Access("kafka", ("lkc-abc123", "env-1"))
PATH = "/org/v2/environments"


def get(session: ConfluentSession, access: Access = CLOUD) -> object:
    return session.get(session.control_url(PATH), access)


def test_missing_key_names_its_variable_and_nothing_is_sent(
    fake: FakeConfluent, session_with: Callable[..., ConfluentSession]
) -> None:
    with pytest.raises(MissingCredential) as raised:
        get(session_with(credentials=keys("confluent_cloud")), KAFKA)
    assert "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123" in raised.value.hint
    assert raised.value.denied
    assert fake.requests == []


def test_each_plane_gets_its_own_key(
    fake: FakeConfluent, session_with: Callable[..., ConfluentSession]
) -> None:
    fake.routes[PATH] = {"ok": True}
    special = keys("kafka")["kafka"].model_copy(update={"key": "KEY-lkc-abc123"})
    made = session_with(credentials={**keys(), "kafka/LKC_ABC123": special})
    for access in (CLOUD, KAFKA, Access("kafka", ("lkc-other",)), Access("tableflow", ("lkc-abc123",))):
        get(made, access)
    assert [key_of(request) for request in fake.requests] == [
        "KEY-confluent_cloud",
        "KEY-lkc-abc123",
        "KEY-kafka",
        "KEY-tableflow",
    ]
    assert made.requests == 4
