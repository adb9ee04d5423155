"""Which credentials are in use, and which variables only look as if they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError

from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.operations.identity import caller_of, identity_of
from lineage_bridge_dagster_tests.config.mocked_aws import mocked_aws

ROLE = "arn:aws:iam::111122223333:role/lineage"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAKEY", "AWS_SECRET_ACCESS_KEY": "hidden"}
WEB_IDENTITY = {"AWS_ROLE_ARN": ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE": "/token"}


@pytest.fixture(autouse=True)
def profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The profile `work` with keys, and `chained`, which assumes a role."""
    (tmp_path / "credentials").write_text(
        "[work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = hidden\n"
    )
    (tmp_path / "config").write_text(
        f"[profile chained]\nrole_arn = {ROLE}\nsource_profile = work\nregion = eu-west-3\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.parametrize(
    ("env", "settings", "method", "says", "strays"),
    [
        (KEYS, {}, "env", "the keys in AWS_ACCESS_KEY_ID", {}),
        ({}, {"profile": "work"}, "shared-credentials-file", "the keys of profile work", {}),
        ({"AWS_PROFILE": "work"}, {}, "shared-credentials-file", "the keys of profile work", {}),
        ({}, {"profile": "chained"}, "assume-role", "the role that profile chained assumes", {}),
        (WEB_IDENTITY, {}, "assume-role-with-web-identity", "the role of a web identity token", {}),
        ({}, {}, "", "no credentials", {}),
        (KEYS, {"role_arn": ROLE}, "env", f"{ROLE}, assumed with the keys in", {}),
        # Variables without a say.
        (
            KEYS,
            {"profile": "work"},
            "shared-credentials-file",
            "work",
            dict.fromkeys(KEYS, "work comes first"),
        ),
        (
            KEYS,
            {"profile": "work", "role_arn": ROLE},
            "shared-credentials-file",
            f"{ROLE}, assumed with the keys of profile work",
            dict.fromkeys(KEYS, "Spark assumes the role with these keys"),
        ),
        ({**KEYS, "AWS_PROFILE": "work"}, {}, "env", "AWS_ACCESS_KEY_ID", {"AWS_PROFILE": "come first"}),
        (
            {"AWS_PROFILE": "chained"},
            {"profile": "work"},
            "shared-credentials-file",
            "work",
            {"AWS_PROFILE": "the settings name profile work"},
        ),
        ({**KEYS, **WEB_IDENTITY}, {}, "env", "keys", dict.fromkeys(WEB_IDENTITY, "come first")),
        ({**KEYS, "AWS_ROLE_ARN": ROLE}, {}, "env", "keys", {"AWS_ROLE_ARN": "other one is missing"}),
        (
            {**KEYS, "AWS_PROFILE": "chained", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://localhost/keys"},
            {},
            "env",
            "AWS_ACCESS_KEY_ID",
            {"AWS_PROFILE": "come first", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "container's role"},
        ),
        ({"AWS_SECRET_ACCESS_KEY": "hidden"}, {}, "", "", {"AWS_SECRET_ACCESS_KEY": "AWS_ACCESS_KEY_ID is"}),
        (
            {**KEYS, "AWS_REGION": "us-east-1"},
            {},
            "env",
            "",
            {"AWS_REGION": "it is us-east-1, and the region in use is eu-west-1"},
        ),
        (
            {**KEYS, "AWS_ENDPOINT_URL_GLUE": "https://other"},
            {"endpoint_url": "https://glue"},
            "env",
            "",
            {"AWS_ENDPOINT_URL_GLUE": "https://glue"},
        ),
        (
            {**KEYS, "AWS_ENDPOINT_URL": "https://a", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
            {},
            "env",
            "",
            {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "Spark does not"},
        ),
    ],
)
def test_source_and_stray_variables_are_named_without_a_value(
    env: dict[str, str],
    settings: dict[str, Any],
    method: str,
    says: str,
    strays: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    found = identity_of(AwsSettings(**{"region": "eu-west-1", **settings}))
    assert found.method == method
    assert found.region == "eu-west-1"
    assert says in str(found)
    assert {stray.variable for stray in found.strays} == set(strays)
    for stray in found.strays:
        assert strays[stray.variable] in str(stray)
    assert "hidden" not in repr(found) + str(found)
    assert "AKIA" not in repr(found)
    assert not any(stray.breaks for stray in found.strays)
    assert all(stray.remedy for stray in found.strays)


@pytest.mark.parametrize(
    ("env", "variable", "why"),
    [
        ({**KEYS, "AWS_ACCESS_KEY_ID": "ASIAKEY"}, "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN is not set"),
        ({**KEYS, "AWS_SESSION_TOKEN": "left"}, "AWS_SESSION_TOKEN", "left over from another session"),
        ({**KEYS, "AWS_SECRET_ACCESS_KEY": "x \n"}, "AWS_SECRET_ACCESS_KEY", "spaces"),
    ],
)
def test_keys_in_use_that_do_not_belong_together_break_every_call(
    env: dict[str, str], variable: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    settings = AwsSettings(region="eu-west-1")
    (stray,) = identity_of(settings).strays
    assert (stray.variable, stray.breaks) == (variable, True)
    assert why in stray.why
    # The same variables break nothing where a profile comes first.
    assert not any(stray.breaks for stray in identity_of(AwsSettings(profile="work")).strays)


def test_keys_of_a_dotenv_file_are_told_from_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    settings = AwsSettings(region="eu-west-1")
    assert str(identity_of(settings, dotenv=KEYS)).endswith("of the .env file")
    assert str(identity_of(settings, dotenv={"AWS_ACCESS_KEY_ID": "AKIAOTHER"})).endswith("_KEY")
    assert identity_of(settings).key_end == "AKEY"


def test_region_of_the_profile_is_in_use() -> None:
    assert identity_of(AwsSettings(profile="chained")).region == "eu-west-3"
    assert identity_of(AwsSettings(profile="work")).region == ""


@pytest.mark.parametrize(
    ("env", "settings", "expected"),
    [
        ({}, {"profile": "missing", "region": "eu-west-1"}, "'missing' is not configured"),
        ({"AWS_ACCESS_KEY_ID": "ASIAKEY"}, {"region": "eu-west-1"}, "AWS_SECRET_ACCESS_KEY"),
    ],
)
def test_unusable_configuration_says_what_to_do(
    env: dict[str, str], settings: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=expected):
        identity_of(AwsSettings(**settings))


def test_caller_is_who_aws_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with mocked_aws():
        assert caller_of(AwsSettings(region="eu-west-1")).account == "123456789012"
        assert caller_of(AwsSettings(region="eu-west-1", role_arn=ROLE)).account == "111122223333"


def test_caller_without_credentials_is_an_error() -> None:
    with pytest.raises(NoCredentialsError):
        caller_of(AwsSettings(region="eu-west-1"))
    with pytest.raises(ConfigurationError, match=f"to assume {ROLE} with"):
        caller_of(AwsSettings(region="eu-west-1", role_arn=ROLE))
