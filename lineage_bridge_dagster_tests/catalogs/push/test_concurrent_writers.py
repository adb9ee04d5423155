"""Pushes while writers in other processes commit: nothing that they were told was committed is lost."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION
from lineage_bridge_dagster_tests.catalogs.push.lineages import Lineage
from lineage_bridge_dagster_tests.catalogs.push.playing import assert_in_sync
from lineage_bridge_dagster_tests.catalogs.push.tables import GlueTable, PushedTable, RestTable, Servers
from lineage_bridge_dagster_tests.embedded.rest.clients import signed_properties
from lineage_bridge_dagster_tests.writer_processes import append, processes, set_properties

pytestmark = pytest.mark.xdist_group("push")

APPENDS, PROPERTIES = 5, 3
#: In turn, so that each push has something to write.
LINEAGES = tuple(Lineage(((NodeType.KAFKA_TOPIC, name, {}),)) for name in ("orders", "returns"))


def writers_catalogs(servers: Servers, table: PushedTable) -> list[Mapping[str, str]]:
    """How each kind of writer reaches the table."""
    signed = {"type": "rest", **signed_properties(servers.rest, servers.aws)}
    if isinstance(table, RestTable):
        return [signed, signed]
    glue = {
        "type": "glue",
        "glue.endpoint": servers.aws.endpoint_url,
        "s3.endpoint": servers.aws.endpoint_url,
        "client.region": REGION,
        "client.access-key-id": ACCESS_KEY,
        "client.secret-access-key": SECRET_KEY,
    }
    return [glue, {**signed, "warehouse": servers.aws.account_id}]


@pytest.mark.parametrize("kind", [GlueTable, RestTable])
def test_pushes_beside_processes_that_commit_lose_nothing(
    servers: Servers, kind: type[GlueTable] | type[RestTable]
) -> None:
    table = kind(servers)
    first, second = writers_catalogs(servers, table)
    keys = [f"theirs.{number}" for number in range(PROPERTIES)]
    pushes = []
    with processes(2) as pool:
        writers = [
            pool.submit(append, first, table.name, range(APPENDS)),
            pool.submit(append, second, table.name, range(APPENDS, 2 * APPENDS)),
            pool.submit(set_properties, second, table.name, keys),
        ]
        while not all(writer.done() for writer in writers):
            pushed = table.push(LINEAGES[len(pushes) % 2], PushSettings(max_attempts=50)).results
            pushes += pushed
            # A push that follows another at once would leave the writers of a Glue table no time to commit.
            while table.observe().version == pushed[0].version_after and not all(w.done() for w in writers):
                time.sleep(0.05)
    for writer in writers:
        writer.result()
    # Each push arrived, or says why not.
    assert all(result.ok or (result.reason and result.hint) for result in pushes)
    table.push(LINEAGES[0], PushSettings())
    assert_in_sync(table, LINEAGES[0], PushSettings())
    loaded = table.load()
    assert sorted(loaded.scan().to_arrow()["id"].to_pylist()) == list(range(2 * APPENDS))
    assert len(loaded.snapshots()) == 2 * APPENDS
    assert {key: loaded.properties.get(key) for key in keys} == {key: key for key in keys}
