"""A key that is rotated is used by the next run, tick or request, without a restart of any process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from botocore.awsrequest import AWSResponse

from lineage_bridge_dagster.automation.list_client import ListClient
from lineage_bridge_dagster.automation.watched_lists import GLUE, TABLEFLOW, ListScope
from lineage_bridge_dagster.catalogs.errors import CredentialsError
from lineage_bridge_dagster.catalogs.glue import client as glue_clients
from lineage_bridge_dagster.config import secrets as secrets_module
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import Unauthorized
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.settings import SettingsReader
from lineage_bridge_dagster_tests.confluent.fake import failure, key_of

REGION = "eu-west-1"
CLOUD = Access("confluent_cloud")
PATH = "/org/v2/environments"


def variables(key: str) -> dict[str, str]:
    return {
        "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY": key,
        "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET": f"secret of {key}",
    }


class Stored:
    """Keys in AWS Secrets Manager, and how often they were read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads = 0
        self.key = "old"
        monkeypatch.setattr(secrets_module, "read_secrets", self._read)

    def _read(self, *_: Any) -> dict[str, str]:
        self.reads += 1
        return variables(self.key)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Stored:
    return Stored(monkeypatch)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    now = [0.0]
    monkeypatch.setattr(secrets_module.time, "monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


def reader() -> SettingsReader:
    return SettingsReader({"confluent": {"secrets": "prod/confluent"}, "aws": {"region": REGION}})


def key_in(settings: Any) -> str:
    return str(settings.confluent.credentials["confluent_cloud"].key)


def serving(valid: Callable[[], str], sent: list[str]) -> httpx.MockTransport:
    """Answers the key that is valid now, and refuses others."""

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(key_of(request))
        if key_of(request) != valid():
            return failure(401)(request)
        return httpx.Response(200, json={"data": [], "metadata": {}})

    return httpx.MockTransport(answer)


def test_a_key_in_the_env_file_is_read_at_each_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = SettingsReader()
    for key in ("old", "new"):
        lines = [f"{name}='{value}'" for name, value in variables(key).items()]
        (tmp_path / ".env").write_text("\n".join(lines))
        assert key_in(settings()) == key


@pytest.mark.parametrize(
    ("access", "variable"),
    [
        (Access("confluent_cloud"), "CONFLUENT_CLOUD_API"),
        (Access("kafka", ("lkc-1",)), "KAFKA_API"),
        (Access("kafka", ("lkc-1",)), "KAFKA_API_LKC_1"),
        (Access("schema_registry", ("env-1",)), "SCHEMA_REGISTRY_API_ENV_1"),
        (Access("flink", ("aws.us-east-1",)), "FLINK_API_AWS_US_EAST_1"),
        (Access("ksqldb", ("lksqlc-1",)), "KSQLDB_API"),
        (Access("tableflow"), "TABLEFLOW_API"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_every_key_in_a_file_is_rotated_while_it_is_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, access: Access, variable: str
) -> None:
    """In files as Kubernetes, Compose or a person writes them."""
    monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS_DIR", str(tmp_path))

    def write(key: str) -> None:
        plane, _, qualifier = variable.partition("_API")
        for half, value in (("KEY", key), ("SECRET", f"secret of {key}")):
            (tmp_path / f"LINEAGE_BRIDGE_{plane}_API_{half}{qualifier}").write_text(f"{value}\n")

    write("old")
    settings, valid, sent = SettingsReader()(), ["old"], list[str]()
    with ConfluentSession(
        settings.confluent, serving(lambda: valid[0], sent), renew=lambda: settings.read_again().confluent
    ) as session:
        session.get(session.control_url(PATH), access)
        write("new")
        valid[0] = "new"
        session.get(session.control_url(PATH), access)
    assert sent == ["old", "old", "new"]


def test_a_key_in_secrets_manager_is_read_by_each_run_and_by_ticks_within_five_minutes(
    stored: Stored, clock: Callable[[float], None]
) -> None:
    sensor = reader()
    assert key_in(sensor()) == "old"
    stored.key = "new"
    # A run is a process of its own.
    assert key_in(reader()()) == "new"
    assert key_in(sensor()) == "old"
    clock(301)
    assert key_in(sensor()) == "new"


def test_a_key_that_is_refused_is_read_again_at_once(stored: Stored) -> None:
    settings = reader()()
    sent: list[str] = []
    stored.key = "new"
    with ConfluentSession(
        settings.confluent,
        serving(lambda: "new", sent),
        renew=lambda: settings.read_again().confluent,
    ) as session:
        answers = session.map(lambda _: session.get(session.control_url(PATH), CLOUD), range(8))
        assert len(answers) == 8
        session.get(session.control_url(PATH), CLOUD)
    # Once for all threads: others may have sent the old key meanwhile.
    assert stored.reads == 2
    assert sent[-1] == "new"
    assert sent.count("new") == 9


def test_a_key_that_is_refused_and_was_not_rotated_is_read_again_only_once(stored: Stored) -> None:
    settings = reader()()
    sent: list[str] = []
    with ConfluentSession(
        settings.confluent,
        serving(lambda: "other", sent),
        renew=lambda: settings.read_again().confluent,
    ) as session:
        for _ in range(3):
            with pytest.raises(Unauthorized):
                session.get(session.control_url(PATH), CLOUD)
    assert (stored.reads, sent) == (2, ["old"] * 3)


def test_the_refusal_stands_if_the_keys_cannot_be_read_again(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = reader()()
    monkeypatch.setattr(
        secrets_module, "read_secrets", lambda *_: {"LINEAGE_BRIDGE_CONFLUENT_TIMEOUT_SECONDS": "x"}
    )
    with (
        ConfluentSession(
            settings.confluent, serving(lambda: "new", []), renew=lambda: settings.read_again().confluent
        ) as session,
        pytest.raises(Unauthorized),
    ):
        session.get(session.control_url(PATH), CLOUD)


def test_a_tick_uses_a_rotated_key_for_the_list_that_refused_the_old_one(stored: Stored) -> None:
    sent: list[str] = []
    lists = ListClient(reader(), transport=serving(lambda: stored.key, sent))
    scope = ListScope(TABLEFLOW, "env-1", "lkc-1")
    assert list(lists(scope)) == []
    stored.key = "new"
    assert list(lists(scope)) == []
    assert sent == ["old", "old", "new"]


def test_settings_that_did_not_change_are_equal_so_that_ticks_keep_their_clients(stored: Stored) -> None:
    read = reader()
    assert read() == read() == reader()() == read().read_again()
    lists = ListClient(read, transport=serving(lambda: stored.key, []))
    scope = ListScope(TABLEFLOW, "env-1", "lkc-1")
    sessions = []
    for _ in range(2):
        list(lists(scope))
        sessions.append(lists._session)
    assert sessions[0] is sessions[1]
    before, stored.key = read(), "new"
    assert before != before.read_again()


def test_a_tick_makes_a_new_client_of_glue_after_aws_refused_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "credentials"
    used: list[str] = []
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(profile))
    make = glue_clients.glue_client

    def refusing(settings: Any, **options: Any) -> Any:
        client = make(settings, **options)
        key = client._request_signer._credentials.access_key

        def answer(**_: Any) -> Any:
            used.append(key)
            body = b'{"__type": "UnrecognizedClientException", "Message": "unknown"}'
            fine = b'{"TableList": []}'
            ok = key == "AKIANEW"
            return AWSResponse("", 200 if ok else 400, {}, _Raw(fine if ok else body))

        client.meta.events.register("before-send.glue", answer)
        return client

    monkeypatch.setattr(glue_clients, "glue_client", refusing)
    lists = ListClient(SettingsReader({"aws": {"region": REGION}}))
    scope = ListScope(GLUE, "", "db")
    for key in ("AKIAOLD", "AKIANEW"):
        profile.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = x\n")
        if key == "AKIAOLD":
            with pytest.raises(CredentialsError):
                list(lists(scope))
        else:
            assert list(lists(scope)) == []
    assert used == ["AKIAOLD", "AKIANEW"]


class _Raw:
    """The body of an answer."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self._body
