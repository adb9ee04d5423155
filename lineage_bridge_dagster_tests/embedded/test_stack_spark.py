"""The running stack's Spark Connect server, on which Dagster's runs compute."""

from __future__ import annotations

import stat
import uuid

import grpc
import psutil
import pytest
from pyspark.sql.connect.proto import ConfigRequest, SparkConnectServiceStub

from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.spark.connect_address import TOKEN_VARIABLE, SparkRemote
from lineage_bridge_dagster_tests.command_lines import command_lines
from lineage_bridge_dagster_tests.live import LiveStack

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]


def version(stack: LiveStack, token: str | None) -> str:
    """What the server answers to a client with a token, or without one."""
    server = SparkRemote.parse(stack.stack.env()["LINEAGE_BRIDGE_SPARK_REMOTE"])
    request = ConfigRequest(session_id=str(uuid.uuid4()))
    request.user_context.user_id = "someone"
    request.operation.get.keys.append("spark.sql.session.timeZone")
    with grpc.insecure_channel(f"{server.host}:{server.port}") as channel:
        metadata = [("authorization", f"Bearer {token}")] if token is not None else []
        answer = SparkConnectServiceStub(channel).Config(request, metadata=metadata, timeout=60)
    return str(answer.pairs[0].value)


@pytest.mark.parametrize("token", [None, "guessed"])
def test_who_lacks_the_token_is_refused(live_stack: LiveStack, token: str | None) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        version(live_stack, token)
    assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_the_token_is_readable_by_its_user_alone_and_lets_in(live_stack: LiveStack) -> None:
    paths = live_stack.stack.paths
    for path in (paths.spark_token, paths.env_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = live_stack.stack.env()[TOKEN_VARIABLE]
    assert token not in paths.stack_file.read_text()
    driver = processes.find(paths)["materializer"].process
    assert not any(token in line for line in command_lines(driver))
    assert version(live_stack, token) == "UTC"


def test_the_server_listens_on_the_loopback_interface_alone(live_stack: LiveStack) -> None:
    server = SparkRemote.parse(live_stack.stack.env()["LINEAGE_BRIDGE_SPARK_REMOTE"])
    driver = processes.find(live_stack.stack.paths)["materializer"].process
    listening = [
        each.laddr
        for process in [driver, *driver.children(recursive=True)]
        for each in process.net_connections(kind="tcp")
        if each.status == psutil.CONN_LISTEN
    ]
    assert server.port in {address.port for address in listening}
    assert {address.ip for address in listening} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
