"""Which credentials are in use, and which variables only look as if they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from lineage_bridge_dagster.config.identity import caller_of, identity_of
from lineage_bridge_dagster.config.settings import AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError

ROLE = "arn:aws:iam::111122223333:role/lineage"
KEYS = {"AWS_ACCESS_KEY_ID": "ASIAKEY", "AWS_SECRET_ACCESS_KEY": "hidden"}
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
            {
                "AWS_ACCESS_KEY_ID": "AKIAKEY",
                "AWS_SECRET_ACCESS_KEY": "hidden",
                "AWS_SESSION_TOKEN": "hidden",
            },
            {},
            "env",
            "keys",
            {"AWS_SESSION_TOKEN": "long-term key"},
        ),
        ({"AWS_SECRET_ACCESS_KEY": "hidden"}, {}, "", "", {"AWS_SECRET_ACCESS_KEY": "AWS_ACCESS_KEY_ID is"}),
        (
            {**KEYS, "AWS_REGION": "us-east-1"},
            {},
            "env",
            "",
            {"AWS_REGION": "the region in use is eu-west-1"},
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


def test_region_of_the_profile_is_in_use() -> None:
    assert identity_of(AwsSettings(profile="chained")).region == "eu-west-3"


@pytest.mark.parametrize(
    ("env", "settings", "expected"),
    [
        ({}, {"profile": "missing", "region": "eu-west-1"}, "'missing' is not configured"),
        ({}, {"profile": "work"}, "No AWS region"),
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
    with mock_aws():
        assert caller_of(AwsSettings(region="eu-west-1")).account == "123456789012"
        assert caller_of(AwsSettings(region="eu-west-1", role_arn=ROLE)).account == "111122223333"


def test_caller_without_credentials_is_an_error_with_a_remedy() -> None:
    with pytest.raises(ConfigurationError, match="credentials"):
        caller_of(AwsSettings(region="eu-west-1"))
