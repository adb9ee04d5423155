from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from pydantic import SecretStr

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import Forbidden, NotFound, Unauthorized
from lineage_bridge_dagster.confluent.api.http_errors import error_of_response
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, failure

CLOUD = Access("confluent_cloud")
KAFKA = Access("kafka", ("lkc-abc123", "env-1"))
PATH = "/org/v2/environments"


def get(session: ConfluentSession, access: Access = CLOUD) -> object:
    return session.get(session.control_url(PATH), access)


def test_wrong_key_names_plane_and_variable(
    fake: FakeConfluent, session_with: Callable[..., ConfluentSession]
) -> None:
    fake.routes[PATH] = failure(401)
    with pytest.raises(Unauthorized) as raised:
        get(session_with(), KAFKA)
    assert "Kafka cluster lkc-abc123" in raised.value.message
    assert "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123" in raised.value.hint


def test_missing_role_is_named(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = failure(403)
    with pytest.raises(Forbidden) as raised:
        get(session, KAFKA)
    assert "DeveloperRead" in raised.value.hint
    assert "scripted 403" in raised.value.message


@pytest.mark.parametrize(
    "body",
    [
        {"errors": [{"detail": "Subject is\nunknown"}]},
        {"error": {"code": 404, "message": "Subject is unknown"}},
        {"error_code": 40401, "message": "Subject is unknown"},
    ],
)
def test_detail_is_read_from_all_three_shapes(
    fake: FakeConfluent, session: ConfluentSession, body: object
) -> None:
    fake.routes[PATH] = lambda _: httpx.Response(404, json=body)
    with pytest.raises(NotFound, match="Subject is unknown"):
        get(session)


def test_secret_echoed_in_an_error_is_masked(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = lambda _: httpx.Response(
        401, json={"message": "bad password secret-of-confluent_cloud"}
    )
    with pytest.raises(Unauthorized) as raised:
        get(session)
    assert "secret-of-confluent_cloud" not in str(raised.value)


@pytest.mark.parametrize("length", range(280, 300, 4))
def test_truncated_error_contains_no_part_of_a_secret(
    fake: FakeConfluent, session: ConfluentSession, length: int
) -> None:
    body = {"message": "x" * length + "secret-of-confluent_cloud"}
    fake.routes[PATH] = lambda _: httpx.Response(401, json=body)
    with pytest.raises(Unauthorized) as raised:
        get(session)
    assert "sec" not in raised.value.message


@pytest.mark.parametrize("status", [302, 401, 403, 500, 503])
@pytest.mark.parametrize("host", ["registry.example.com", "127.0.0.1", "psrc-1.confluent.cloud"])
def test_hints_are_about_whose_server_it_is_whatever_its_host(host: str, status: int) -> None:
    def hint(self_managed: bool) -> str:
        request = httpx.Request("GET", f"https://{host}/subjects")
        access = Access("schema_registry", ("shop",), self_managed)
        return error_of_response(httpx.Response(status, request=request), access, None).hint

    of_confluent = ("Confluent's", "CONFLUENT_API_URL", "DeveloperRead", "plane")
    own = hint(self_managed=True)
    assert host in own
    assert not any(word in own for word in of_confluent)
    assert any(word in hint(self_managed=False) for word in of_confluent)


def test_a_server_of_ones_own_that_was_asked_without_a_key_asks_for_one() -> None:
    request = httpx.Request("GET", "https://registry.example.com/schemas")
    access = Access("schema_registry", ("shop",), self_managed=True)
    anonymous = Credential(key="anonymous", secret=SecretStr(""))
    hint = error_of_response(httpx.Response(401, request=request), access, anonymous).hint
    assert hint.startswith(
        "registry.example.com asks for a key: set LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY_SHOP"
    )
