"""Each Confluent key against the emulator's planes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest

from lineage_bridge_dagster.config.credentials import CLUSTER_CREDENTIALS
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.operations.doctor.checks import run_checks
from lineage_bridge_dagster.operations.doctor.confluent_keys import key_checks
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus, Finding
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator
from lineage_bridge_dagster_tests.operations.doctor.examined import context_of

KAFKA_KEY = "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_7K2M9P"
KAFKA_SECRET = "LINEAGE_BRIDGE_KAFKA_API_SECRET_LKC_7K2M9P"


@pytest.fixture(scope="module")
def emulator() -> Iterator[ConfluentEmulator]:
    with ConfluentEmulator() as running:
        yield running


def _examined(variables: Mapping[str, str]) -> list[Finding]:
    return run_checks(key_checks(), context_of(variables))


def _bad(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.status in (CheckStatus.FAILED, CheckStatus.WARNING)]


def test_every_plane_accepts_its_own_key(emulator: ConfluentEmulator) -> None:
    found = _examined(emulator.env())
    assert _bad(found) == []
    tried = {one.check for one in found if one.status is CheckStatus.OK}
    assert tried == {
        *(f"confluent.{plane}" for plane in ("cloud", "kafka", "schema_registry", "flink", "ksqldb")),
        "confluent.tableflow",
        "confluent.keys",
    }


def test_a_key_of_another_plane_is_told_from_a_wrong_one(emulator: ConfluentEmulator) -> None:
    registry = world.api_key("schema_registry")
    swapped = {**emulator.env(), KAFKA_KEY: registry.key, KAFKA_SECRET: registry.secret}
    (found,) = _bad(_examined(swapped))
    assert found.check == "confluent.kafka"
    assert f"Schema Registry {world.SCHEMA_REGISTRY_ID}" in found.result
    assert KAFKA_KEY in found.remedy

    (found,) = _bad(_examined({**emulator.env(), KAFKA_SECRET: "not-the-right-secret"}))
    assert "returned 401" in found.result
    assert "is wrong, was revoked" in found.remedy
    assert "not-the-right-secret" not in str(found)


def test_a_refused_cloud_key_is_one_failure_and_skips_what_depends_on_it(emulator: ConfluentEmulator) -> None:
    found = _examined({**emulator.env(), "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET": "not-right-at-all"})
    assert [one.check for one in _bad(found)] == ["confluent.cloud"]
    assert {one.status for one in found if one.check == "confluent.kafka"} == {CheckStatus.SKIPPED}


def test_a_key_without_a_role_is_forbidden_and_the_role_is_named(emulator: ConfluentEmulator) -> None:
    with emulator.fault(api="kafka", status=403, times=100):
        found = _bad(_examined(emulator.env()))
    assert {one.check for one in found} == {"confluent.kafka"}
    assert all("lacks a role" in one.result for one in found)
    assert all("DeveloperRead" in one.remedy for one in found)


def test_missing_and_unused_keys_are_named(emulator: ConfluentEmulator) -> None:
    variables = dict(emulator.env())
    key, secret = variables.pop(KAFKA_KEY), variables.pop(KAFKA_SECRET)
    variables["LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_GONE"] = key
    variables["LINEAGE_BRIDGE_KAFKA_API_SECRET_LKC_GONE"] = secret
    by_check = {one.check: one for one in _bad(_examined(variables))}
    assert by_check.keys() == {"confluent.kafka", "confluent.keys"}
    assert KAFKA_KEY in by_check["confluent.kafka"].remedy
    assert "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_GONE" in by_check["confluent.keys"].result


def test_no_cloud_key_at_all_is_a_failure(emulator: ConfluentEmulator) -> None:
    found = _bad(_examined({"LINEAGE_BRIDGE_CONFLUENT_API_URL": emulator.url}))
    assert [(one.check, one.status) for one in found] == [("confluent.cloud", CheckStatus.FAILED)]
    assert "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY" in found[0].remedy


def test_an_unreachable_control_plane_is_told_from_a_refused_key(emulator: ConfluentEmulator) -> None:
    found = _bad(_examined({**emulator.env(), "LINEAGE_BRIDGE_CONFLUENT_API_URL": "http://127.0.0.1:9"}))
    assert [one.check for one in found] == ["confluent.cloud"]
    assert "could not be reached" in found[0].result


def test_a_key_with_quotes_is_named_without_its_value(emulator: ConfluentEmulator) -> None:
    value = '"quoted-secret"'
    found = _examined({**emulator.env(), KAFKA_SECRET: value})
    (malformed,) = [one for one in _bad(found) if one.check == "confluent.keys"]
    assert KAFKA_KEY in malformed.result
    assert "quotes" in malformed.result
    assert value.strip() not in str(found)


def test_a_key_with_spaces_is_named_without_its_value(emulator: ConfluentEmulator) -> None:
    variables = emulator.env()
    key, _ = variables.pop(KAFKA_KEY), variables.pop(KAFKA_SECRET)
    pair = {"api_key": key, "api_secret": " spaced-secret-1"}
    found = _examined({**variables, CLUSTER_CREDENTIALS: json.dumps({"lkc-7k2m9p": pair})})
    (malformed,) = [one for one in _bad(found) if one.check == "confluent.keys"]
    assert CLUSTER_CREDENTIALS in malformed.result
    assert "spaces" in malformed.result
    assert "spaced-secret-1" not in str(found)
