"""Keys out of AWS Secrets Manager, and that no value of theirs is shown anywhere."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from dagster import DagsterInstance
from moto import mock_aws

from lineage_bridge_dagster import discovery
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.reader import SettingsReader
from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.config.yaml_fields import AwsConfig, ConfluentConfig
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster_tests.assets.world import world

REGION = "eu-west-1"
VALUE = "s3cr3t/value+that=is-shown-nowhere"


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield boto3.client("secretsmanager", region_name=REGION)


def source(secrets: str | list[str], **aws: Any) -> SettingsReader:
    return SettingsReader({"confluent": {"secrets": secrets}, "aws": aws})


def store(manager: Any, name: str, **variables: str) -> str:
    return str(manager.create_secret(Name=name, SecretString=json.dumps(variables))["ARN"])


def cloud_key(key: str = "K", secret: str = VALUE) -> dict[str, str]:
    return {
        "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY": key,
        "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET": secret,
    }


def secret_of(settings: Settings, plane: Any = "confluent_cloud") -> str:
    found = settings.confluent.credential(plane)
    assert found
    return found.secret.get_secret_value()


def test_variables_are_read_by_name_by_arn_and_from_several_secrets(manager: Any) -> None:
    store(manager, "team/confluent", **cloud_key())
    arn = store(manager, "team/kafka", LINEAGE_BRIDGE_KAFKA_API_KEY="A", LINEAGE_BRIDGE_KAFKA_API_SECRET="B")
    settings = source(f"team/confluent, {arn}", region=REGION)()
    assert secret_of(settings) == VALUE
    assert secret_of(settings, "kafka") == "B"


def test_a_secret_may_be_called_like_its_variable(manager: Any) -> None:
    for name, value in cloud_key().items():
        manager.create_secret(Name=name, SecretString=value)
    assert secret_of(source(list(cloud_key()), region=REGION)()) == VALUE


def test_the_region_is_the_environments_where_the_yaml_names_none(
    manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(manager, "keys", **cloud_key())
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", REGION)
    assert secret_of(source("keys")()) == VALUE


def test_a_variable_of_the_environment_wins_and_an_empty_one_does_not(
    manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(manager, "keys", **cloud_key())
    for name in cloud_key():
        monkeypatch.setenv(name, "")
    assert secret_of(source("keys", region=REGION)()) == VALUE
    for name in cloud_key():
        monkeypatch.setenv(name, "mine")
    assert secret_of(source("keys", region=REGION)()) == "mine"


def test_a_shared_secret_sets_nothing_but_our_variables(manager: Any) -> None:
    store(manager, "keys", AWS_REGION="us-west-2", AWS_PROFILE="theirs", **cloud_key())
    settings = source("keys", region=None)
    with pytest.raises(ConfigurationError, match="LINEAGE_BRIDGE_AWS_REGION"):
        settings()
    assert source("keys", region=REGION)().aws.region == REGION


def test_a_secret_is_asked_for_once_and_again_when_its_time_is_over(
    manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(manager, "keys", **cloud_key())
    now = 1000.0
    monkeypatch.setattr("lineage_bridge_dagster.config.secrets.time.monotonic", lambda: now)
    settings = source("keys", region=REGION)
    settings()
    manager.update_secret(SecretId="keys", SecretString=json.dumps(cloud_key(secret="rotated")))
    assert secret_of(settings()) == VALUE
    now += 301
    assert secret_of(settings()) == "rotated"


def test_what_a_push_writes_asks_for_no_secret(manager: Any) -> None:
    assert source("not-there", region=REGION).push().sql == "redacted"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("missing", None, "secretsmanager:GetSecretValue"),
        ("plain", VALUE, "holds no JSON object of variables"),
        ("list", json.dumps([VALUE]), "holds no JSON object of variables"),
        ("half", json.dumps({"LINEAGE_BRIDGE_KAFKA_API_SECRET": VALUE}), "LINEAGE_BRIDGE_KAFKA_API_KEY"),
    ],
)
def test_a_secret_that_does_not_serve_is_told_by_name_and_without_what_it_holds(
    manager: Any, name: str, text: str | None, says: str
) -> None:
    if text is not None:
        manager.create_secret(Name=name, SecretString=text)
    with pytest.raises(ConfigurationError) as raised:
        source(name, region=REGION)()
    assert says in str(raised.value)
    told: BaseException | None = raised.value
    while told is not None:
        assert VALUE not in f"{told!s} {told!r} {vars(told)}"
        told = told.__cause__ or told.__context__


def test_no_value_reaches_the_state_the_logs_the_metadata_or_a_repr(
    manager: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A whole refresh with keys out of a secret: what it stores, says and is made of."""
    store(manager, "keys", **cloud_key())
    asked: list[str] = []

    def confluent(settings: Any, *_args: Any, progress: Any, **_more: Any) -> Discovery:
        asked.append(settings.credential("confluent_cloud").secret.get_secret_value())
        progress(f"asking with {settings!r}")
        logging.getLogger("lineage_bridge_dagster").warning("asked with %s", settings)
        return world().discovery()

    def discover(settings: Settings, last: Any, *, progress: Any) -> Discovery:
        return confluent(settings.confluent, last, progress=progress)

    monkeypatch.setattr(discovery, "discover", discover)
    caplog.set_level(logging.DEBUG)
    component = LineageBridgeComponent(
        confluent=ConfluentConfig(secrets="keys"), aws=AwsConfig(region=REGION)
    )
    definitions = component.build_defs_from_state(None, None)  # type: ignore[arg-type]
    with DagsterInstance.local_temp(str(tmp_path)) as instance:
        result = definitions.resolve_job_def("refresh").execute_in_process(instance=instance)
        assert result.success
        assert asked == [VALUE]
        assert StateStore.of(instance, "LineageBridgeComponent").latest_version()
        entries = [str(entry) for entry in instance.all_logs(result.run_id)]
        files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    told = " ".join([*entries, caplog.text, repr(component), repr(definitions), component.model_dump_json()])
    assert "asking with" in told
    assert VALUE not in told
    assert all(VALUE.encode() not in held for held in files)


def test_no_value_is_in_the_headers_that_an_error_quotes(manager: Any) -> None:
    """The key goes out as HTTP Basic; what a refusal says is the plane and the variable."""
    from lineage_bridge_dagster.confluent.api.errors import ConfluentError
    from lineage_bridge_dagster.confluent.api.session import ConfluentSession
    from lineage_bridge_dagster.confluent.api.tableflow import TableflowClient

    store(manager, "keys", **cloud_key())
    settings = source("keys", region=REGION)().confluent.model_copy(update={"max_attempts": 1})
    refusing = httpx.MockTransport(lambda _request: httpx.Response(401, json={"errors": []}))
    session = ConfluentSession(settings, refusing)
    with pytest.raises(ConfluentError) as raised:
        list(TableflowClient(session).topics("env-1", "lkc-1"))
    assert "LINEAGE_BRIDGE_" in str(raised.value)
    assert VALUE not in f"{raised.value!s} {raised.value!r} {session!r}"
