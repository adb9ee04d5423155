"""Endpoints on this machine's loopback: reached, refused, unknown, without trusted TLS; and proxies."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.embedded.dagster_process import free_port
from lineage_bridge_dagster.operations.doctor import network
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.operations.doctor.examined import context_of, examine, with_status


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_an_endpoint_that_accepts_connections_is_reached(listener: socket.socket) -> None:
    found = network.reach("it", f"http://127.0.0.1:{listener.getsockname()[1]}")
    assert found.status is CheckStatus.OK
    assert "without TLS" in found.result


def test_a_refused_connection_and_an_unknown_name_are_told_apart(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    listener.close()
    refused = network.reach("it", f"https://127.0.0.1:{port}")
    assert f"does not accept connections on port {port}" in refused.result
    unknown = network.reach("it", "https://nowhere.invalid")
    assert "The name nowhere.invalid is not found" in unknown.result
    assert "DNS" in unknown.remedy


def test_a_proxy_stands_in_for_the_endpoint_behind_it(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = listener.getsockname()[1]
    monkeypatch.setenv("https_proxy", f"http://user:hidden@127.0.0.1:{port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    found = network.reach("it", "https://nowhere.invalid")
    assert found.status is CheckStatus.OK
    assert f"the proxy 127.0.0.1:{port}" in found.tried
    assert "hidden" not in str(found)


def test_each_spark_master_and_a_server_is_tried(listener: socket.socket) -> None:
    open_, closed = listener.getsockname()[1], free_port()
    masters = {"SPARK_MASTER": f"spark://127.0.0.1:{open_},127.0.0.1:{closed}"}
    found, missed = examine(network.spark, context_of(masters))
    assert (found.status, missed.status) == (CheckStatus.OK, CheckStatus.FAILED)
    assert f"port {closed}" in missed.result
    assert "spark.master" in missed.remedy
    (server,) = examine(network.spark, context_of({"LINEAGE_BRIDGE_SPARK_REMOTE": f"sc://127.0.0.1:{open_}"}))
    assert server.status is CheckStatus.OK
    for variables in ({}, {"SPARK_MASTER": "local[2]"}):
        assert [one.status for one in examine(network.spark, context_of(variables))] == [CheckStatus.SKIPPED]


def test_proxy_variables_are_shown_without_their_password_and_contradictions_named() -> None:
    variables = {
        "HTTPS_PROXY": "http://user:hidden@proxy:3128",
        "https_proxy": "http://other:3128",
        "AWS_CA_BUNDLE": "/nowhere/ca.pem",
    }
    results = examine(network.proxies, context_of(variables))
    assert "hidden" not in str(results)
    warned = " ".join(one.result for one in with_status(results, CheckStatus.WARNING))
    assert "HTTPS_PROXY and https_proxy differ" in warned
    assert "NO_PROXY is not set" in warned
    (failed,) = with_status(results, CheckStatus.FAILED)
    assert "AWS_CA_BUNDLE names /nowhere/ca.pem" in failed.result
    assert [one.status for one in examine(network.proxies, context_of())] == [CheckStatus.OK]
