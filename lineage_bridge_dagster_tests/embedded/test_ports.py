"""Ports are reused between starts, replaced if taken, or rejected with the process that uses them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.embedded import ports
from lineage_bridge_dagster.errors import ConfigurationError

NAMES = ["confluent", "aws", "broker-a"]


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.socket() as server:
        server.bind((ports.HOST, 0))
        server.listen()
        yield server.getsockname()[1]


def test_previous_ports_are_reused_while_they_are_free() -> None:
    first = ports.assign(NAMES, before={}, base=None, seed="home")
    assert len(set(first.values())) == 3
    assert ports.assign(NAMES, before=first, base=None, seed="elsewhere") == first


def test_a_port_in_use_by_another_process_is_replaced_and_the_others_are_reused(listening: int) -> None:
    before = {**ports.assign(NAMES, before={}, base=None, seed="home"), "aws": listening}
    after = ports.assign(NAMES, before=before, base=None, seed="home")
    assert after["aws"] != listening
    assert {**after, "aws": 0} == {**before, "aws": 0}


def test_a_port_that_its_own_component_listens_on_is_reused(listening: int) -> None:
    before = {**ports.assign(NAMES, before={}, base=None, seed="home"), "aws": listening}
    assert ports.assign(NAMES, before=before, base=None, seed="home", running=["aws"]) == before


def test_a_chosen_port_in_use_is_rejected_with_the_process_that_uses_it(listening: int) -> None:
    with pytest.raises(ConfigurationError) as rejected:
        ports.assign(NAMES, before={}, base=listening, seed="home")
    assert f"Port {listening}, which confluent needs, is in use by pid {os.getpid()}" in str(rejected.value)
    assert "--port-base" in rejected.value.hint


@pytest.mark.parametrize("base", [80, 65534])
def test_a_port_base_out_of_range_is_rejected(base: int) -> None:
    with pytest.raises(ConfigurationError, match="out of range"):
        ports.assign(NAMES, before={}, base=base, seed="home")


def test_a_port_base_in_the_environment_must_be_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ports.PORT_BASE_VARIABLE, "many")
    with pytest.raises(ConfigurationError, match="not a port"):
        ports.base_from_env()
    monkeypatch.setenv(ports.PORT_BASE_VARIABLE, "21000")
    assert ports.base_from_env() == 21000
