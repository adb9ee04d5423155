from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.collector.settings import CollectorSettings, load_config
from lineage_bridge_dagster.errors import ConfigurationError

DOCUMENTED = {
    "key": "AKIAEXAMPLE",
    "secret": "geheim",
    "server": "acme-glue",
    "regions": ["us-east-1", "eu-west-1"],
    "catalogId": "111122223333",
    "role": "",
    "output_path": "/tmp/output",
    "mask": True,
    "compress": True,
    "meta_only": True,
}


def test_documented_configuration_is_taken_as_it_is() -> None:
    settings = CollectorSettings.of(DOCUMENTED)
    assert (settings.catalog_id, settings.role, settings.regions) == (
        "111122223333",
        None,
        ["us-east-1", "eu-west-1"],
    )
    assert "geheim" not in repr(settings)


def test_variables_fill_in_what_the_file_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_REGIONS", "us-east-1, eu-west-1")
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_SERVER", "from-variable")
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_MASK", "true")
    settings = CollectorSettings.of({"server": "from-file"})
    assert (settings.regions, settings.server, settings.mask) == (
        ["us-east-1", "eu-west-1"],
        "from-file",
        True,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regions": []}, "regions"),
        ({"regions": ["mars"]}, "region"),
        ({"role": "admin"}, "role"),
        ({"secret": ""}, "secret is missing"),
        ({"meta_only": False}, "only metadata is extracted"),
        ({"mask_classes": ["names"]}, "mask_classes"),
        ({"passwort": "geheim"}, "passwort"),
    ],
)
def test_wrong_value_is_an_error_that_names_the_key_and_quotes_no_value(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        CollectorSettings.of({**DOCUMENTED, **change})
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "[" * 100_000])
def test_file_without_a_json_object_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"config\.json"):
        load_config(path)


def test_file_is_read_as_it_is_documented(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_text(json.dumps(DOCUMENTED), encoding=encoding)
        assert load_config(path) == DOCUMENTED


def test_key_that_the_file_leaves_empty_comes_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_SECRET", "geheim")
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_ROLE", "arn:aws:iam::111122223333:role/glue")
    settings = CollectorSettings.of({**DOCUMENTED, "secret": ""})
    assert (settings.secret, settings.role) == ("geheim", "arn:aws:iam::111122223333:role/glue")


@pytest.mark.parametrize("key", ["secret", "session_token", "mask_key"])
def test_secret_in_the_file_is_warned_of_with_its_variable(
    tmp_path: Path, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**DOCUMENTED, "secret": "", key: "geheim"}))
    with caplog.at_level(logging.WARNING):
        load_config(path)
    assert f"LINEAGE_BRIDGE_COLLECTOR_{key.upper()}" in caplog.text
    assert "geheim" not in caplog.text


@pytest.mark.parametrize("key", ["key", "secret", "sas"])
def test_secret_of_the_landing_place_is_refused_in_the_file_with_its_variable(key: str) -> None:
    landing = {"url": "s3://landing/glue", key: "geheim"}
    with pytest.raises(ConfigurationError, match=rf"landing\.{key} is a secret") as caught:
        CollectorSettings.of({**DOCUMENTED, "landing": landing})
    assert f"LINEAGE_BRIDGE_COLLECTOR_LANDING_{key.upper()}" in caught.value.hint
    assert "geheim" not in str(caught.value)


class Vault:
    """Secrets of AWS Secrets Manager by name, with the regions in which they were asked for."""

    def __init__(self, **variables: str) -> None:
        self.variables = {f"LINEAGE_BRIDGE_{name}": value for name, value in variables.items()}
        self.asked: list[tuple[str, str | None]] = []

    def __call__(self, names: Sequence[str], region: str | None, profile: str | None) -> dict[str, str]:
        assert profile is None
        self.asked += [(name, region) for name in names]
        return self.variables


def test_secrets_fill_in_what_neither_the_file_nor_a_variable_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_SESSION_TOKEN", "from-variable")
    vault = Vault(
        COLLECTOR_SECRET="from-secret",
        COLLECTOR_SESSION_TOKEN="not-used",
        COLLECTOR_SERVER="not-used",
        COLLECTOR_MASK_KEY="mask",
        COLLECTOR_LANDING_SAS="sas",
        KAFKA_API_SECRET="another-part-of-the-project",
    )
    settings = CollectorSettings.of(
        {**DOCUMENTED, "secret": "", "secrets": ["team/collector"], "landing": "s3://landing/glue"},
        secrets=vault,
    )
    assert (settings.secret, settings.session_token, settings.server) == (
        "from-secret",
        "from-variable",
        "acme-glue",
    )
    assert settings.landing is not None
    assert (settings.mask_key, settings.landing.sas) == ("mask", "sas")
    shown = repr(settings) + repr(settings.landing) + str(settings.model_dump(mode="json")["landing"])
    assert not [value for value in ("from-secret", "from-variable", "'mask'", "'sas'") if value in shown]


def test_secret_is_read_in_the_region_of_its_arn_else_of_aws_else_of_the_first_that_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arn = "arn:aws:secretsmanager:ap-southeast-2:111122223333:secret:collector-AbCdEf"
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "LINEAGE_BRIDGE_AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    vault = Vault()
    CollectorSettings.of({**DOCUMENTED, "secrets": ["keys", arn]}, secrets=vault)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    CollectorSettings.of({**DOCUMENTED, "secrets": "keys"}, secrets=vault)
    assert vault.asked == [("keys", "us-east-1"), (arn, "ap-southeast-2"), ("keys", "eu-central-1")]


def test_without_the_key_no_secret_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS", "prod/confluent")
    vault = Vault()
    CollectorSettings.of(DOCUMENTED, secrets=vault)
    assert vault.asked == []


@pytest.mark.parametrize("account", [111122223333, 11122223333, "111122223333"])
def test_account_may_be_written_as_a_number(account: Any) -> None:
    assert CollectorSettings.of({**DOCUMENTED, "catalogId": account}).catalog_id in (
        "111122223333",
        "011122223333",
    )


def test_key_that_is_missing_can_be_set_in_the_file_or_in_its_variable() -> None:
    with pytest.raises(ConfigurationError, match="regions is missing") as caught:
        CollectorSettings.of({})
    assert "LINEAGE_BRIDGE_COLLECTOR_REGIONS" in caught.value.hint


def test_unknown_key_is_told_those_that_a_file_may_have() -> None:
    with pytest.raises(ConfigurationError, match="bucket") as caught:
        CollectorSettings.of({**DOCUMENTED, "bucket": "x"})
    assert set(DOCUMENTED) <= set(caught.value.hint.removeprefix("The keys are: ").strip(".").split(", "))


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ({"maks": True}, "maks is not a key", "Did you mean mask?"),
        ({"landing": {"url": "/x", "kmskey": "k"}}, "landing.kmskey is not a key", "Did you mean kms_key?"),
        ({"landing": {"region": "eu-west-1"}}, "landing.url is missing", "Set it in the configuration."),
        ({"mask_classes": []}, "mask_classes: ", "Correct mask_classes."),
        ({"landing": {"url": " "}}, "landing.url: it is not a folder or a URL", "Correct landing.url."),
        ({"output_path": " ", "regions": " "}, "regions is missing", "LINEAGE_BRIDGE_COLLECTOR_REGIONS."),
        ({"mask_classes": ["comment"]}, "mask_classes.0: Input should be", "Correct mask_classes.0."),
    ],
)
def test_misspelt_key_is_told_the_one_that_is_meant(change: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        CollectorSettings.of({**DOCUMENTED, **change})
    assert caught.value.hint.endswith(hint)
