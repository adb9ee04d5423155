"""Keys from AWS Secrets Manager; none of their values is shown anywhere."""

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

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.secrets import CachedSecrets
from lineage_bridge_dagster.config.yaml_fields import AwsConfig
from lineage_bridge_dagster.confluent.resource import ConfluentConfig
from lineage_bridge_dagster.discovery import discover as discovery
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.settings import Settings, SettingsReader
from lineage_bridge_dagster_tests.assets.world import world
from lineage_bridge_dagster_tests.config.mocked_aws import mocked_aws

REGION = "eu-west-1"
VALUE = "s3cr3t/value+that=is-shown-nowhere"


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mocked_aws():
        yield boto3.client("secretsmanager", region_name=REGION)


def reader(secrets: str | list[str], **aws: Any) -> SettingsReader:
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
    settings = reader(f"team/confluent, {arn}", region=REGION)()
    assert secret_of(settings) == VALUE
    assert secret_of(settings, "kafka") == "B"


def test_secret_may_be_named_after_its_variable(manager: Any) -> None:
    for name, value in cloud_key().items():
        manager.create_secret(Name=name, SecretString=value)
    assert secret_of(reader(list(cloud_key()), region=REGION)()) == VALUE


def test_region_of_the_secrets_comes_from_the_environment_if_the_yaml_has_none(
    manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(manager, "keys", **cloud_key())
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", REGION)
    assert secret_of(reader("keys")()) == VALUE


def test_secrets_may_be_named_in_the_environment(manager: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store(manager, "keys", **cloud_key())
    monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS", "keys")
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", REGION)
    assert secret_of(Settings.from_env()) == secret_of(reader("")()) == VALUE


def test_environment_variable_wins_unless_it_is_empty(manager: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store(manager, "keys", **cloud_key())
    for name in cloud_key():
        monkeypatch.setenv(name, "")
    assert secret_of(reader("keys", region=REGION)()) == VALUE
    for name in cloud_key():
        monkeypatch.setenv(name, "mine")
    assert secret_of(reader("keys", region=REGION)()) == "mine"


def test_shared_secret_sets_only_our_variables(manager: Any) -> None:
    store(manager, "keys", AWS_REGION="us-west-2", AWS_PROFILE="theirs", **cloud_key())
    settings = reader("keys", region=None)
    with pytest.raises(ConfigurationError, match="LINEAGE_BRIDGE_AWS_REGION"):
        settings()
    assert reader("keys", region=REGION)().aws.region == REGION


def test_secret_is_cached_until_it_expires(manager: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store(manager, "keys", **cloud_key())
    now = 1000.0
    monkeypatch.setattr("lineage_bridge_dagster.config.secrets.time.monotonic", lambda: now)
    settings = reader("keys", region=REGION)
    settings()
    manager.update_secret(SecretId="keys", SecretString=json.dumps(cloud_key(secret="rotated")))
    assert secret_of(settings()) == VALUE
    now += 301
    assert secret_of(settings()) == "rotated"


def test_every_group_is_read_from_the_secrets(manager: Any) -> None:
    """A group that is read alone has the values that it has among all settings."""
    variables = {
        "PUSH_SQL": "hash",
        "PUSH_OWNER": "prod",
        "AWS_CATALOG_ID": "111122223333",
        "CATALOG_WAREHOUSE": "s3://lake/w",
    }
    store(manager, "settings", **{f"LINEAGE_BRIDGE_{name}": value for name, value in variables.items()})
    settings = reader("settings", region=REGION)
    assert settings.push() == settings().push
    assert settings.aws() == settings().aws
    assert settings.catalog() == settings().catalog
    assert (settings.push().sql, settings.aws().catalog_id) == ("hash", "111122223333")
    assert settings.catalog().warehouse == "s3://lake/w"


def test_group_is_not_read_without_a_secret_that_may_set_it(manager: Any) -> None:
    with pytest.raises(ConfigurationError, match="not-there"):
        reader("not-there", region=REGION).push()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("missing", None, "secretsmanager:GetSecretValue"),
        ("plain", VALUE, "is not a JSON object of variables"),
        ("list", json.dumps([VALUE]), "is not a JSON object of variables"),
        ("half", json.dumps({"LINEAGE_BRIDGE_KAFKA_API_SECRET": VALUE}), "LINEAGE_BRIDGE_KAFKA_API_KEY"),
    ],
)
def test_unusable_secret_is_named_without_its_value(
    manager: Any, name: str, text: str | None, expected: str
) -> None:
    if text is not None:
        manager.create_secret(Name=name, SecretString=text)
    with pytest.raises(ConfigurationError) as raised:
        reader(name, region=REGION)()
    assert expected in str(raised.value)
    error: BaseException | None = raised.value
    while error is not None:
        assert VALUE not in f"{error!s} {error!r} {vars(error)}"
        error = error.__cause__ or error.__context__


def test_value_reaches_neither_state_logs_metadata_nor_repr(
    manager: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A full refresh with keys from a secret: what it stores, logs and represents."""
    store(manager, "keys", **cloud_key())
    secrets: list[str] = []

    def confluent(settings: Any, *_args: Any, progress: Any, **_more: Any) -> Discovery:
        secrets.append(settings.credential("confluent_cloud").secret.get_secret_value())
        progress(f"reading with {settings!r}")
        logging.getLogger("lineage_bridge_dagster").warning("read with %s", settings)
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
        assert secrets == [VALUE]
        assert StateStore.of(instance, "LineageBridgeComponent").latest_version()
        entries = [str(entry) for entry in instance.all_logs(result.run_id)]
        files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    output = " ".join(
        [*entries, caplog.text, repr(component), repr(definitions), component.model_dump_json()]
    )
    assert "reading with" in output
    assert VALUE not in output
    assert all(VALUE.encode() not in content for content in files)


def test_error_of_a_rejected_key_does_not_show_it(manager: Any) -> None:
    """The key is sent as HTTP Basic; the error names the plane and the variable."""
    from lineage_bridge_dagster.confluent.api.errors import ConfluentError
    from lineage_bridge_dagster.confluent.api.session import ConfluentSession
    from lineage_bridge_dagster.confluent.api.tableflow import TableflowTopic, list_tableflow

    store(manager, "keys", **cloud_key())
    settings = reader("keys", region=REGION)().confluent.model_copy(update={"max_attempts": 1})
    rejecting = httpx.MockTransport(lambda _request: httpx.Response(401, json={"errors": []}))
    session = ConfluentSession(settings, rejecting)
    with pytest.raises(ConfluentError) as raised:
        list_tableflow(session, TableflowTopic, "env-1", "lkc-1")
    assert "LINEAGE_BRIDGE_" in str(raised.value)
    assert VALUE not in f"{raised.value!s} {raised.value!r} {session!r}"


def test_a_cache_serves_only_the_secrets_that_it_has_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "lineage_bridge_dagster.config.secrets.read_secrets",
        lambda names, region, profile: {"read": f"{names} {region} {profile}"},
    )
    cached = CachedSecrets()
    first = cached(["a"], "us-east-1", None)
    assert cached(["a"], "us-east-1", None) is first
    assert cached(["b"], "us-east-1", None) != first
    assert cached(["b"], "eu-west-1", None) == {"read": "['b'] eu-west-1 None"}
