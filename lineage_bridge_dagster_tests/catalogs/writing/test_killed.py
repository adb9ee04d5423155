"""A process that is killed in the middle of a push, and the next one, which makes the tables whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster_tests.catalogs.glue.graphs import discovery
from lineage_bridge_dagster_tests.catalogs.writing.proxy import Broken, Fault
from lineage_bridge_dagster_tests.catalogs.writing.stores import Store, variables

pytestmark = pytest.mark.xdist_group("rest")

_PUSH = "from lineage_bridge_dagster.cli.main import main; main()"


@pytest.mark.parametrize("moment", ["after_the_read", "before_the_write", "after_the_write"])
def test_a_killed_push_is_made_whole_by_the_next(
    store: Store, aws: StrictAws, tmp_path: Path, moment: str
) -> None:
    """It dies at the second of three tables, which it writes one by one."""
    names = store.add(3)
    foreign = {name: store.foreign(name) for name in names}
    path = tmp_path / "lineage_graph.json"
    graph_json.dump(discovery(store.graph), path)
    killed: list[subprocess.Popen[bytes]] = []

    def kill() -> None:
        killed[0].kill()
        killed[0].wait()

    position, step = moment.split("_the_")
    fault = Fault(step, Broken.CUT, applied=position == "after", skip=0 if step == "read" else 1)
    if position == "before":
        fault.first = kill
    else:
        fault.then = kill
    store.proxy.faults = [fault]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ICEBERG_"))}
    environment = {
        **clean,
        **variables(aws),
        **store.environment(),
        "LINEAGE_BRIDGE_PUSH_MAX_CONCURRENCY": "1",
    }
    command = [sys.executable, "-c", _PUSH, "push", "--graph", str(path)]
    with (tmp_path / "output").open("wb") as output:
        killed.append(subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=output, stderr=output))
        code = killed[0].wait(120)
    assert code == -9, (tmp_path / "output").read_text()

    written = [name for name in names if store.lineage(name)]
    expected = {"before_the_write": 1, "after_the_write": 2}.get(moment, 0)
    assert len(written) == expected
    for name in names:
        assert store.carried(name) == (store.wanted(name) if name in written else {})
        assert store.foreign(name) == foreign[name]
    report = store.push(names)
    assert {result.table_name for result in report.results if result.status is PushStatus.UNCHANGED} == set(
        written
    )
    for name in names:
        assert store.carried(name) == store.wanted(name)
        assert store.foreign(name) == foreign[name]
