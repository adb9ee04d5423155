"""What Python workers of a cluster need of this package, and of others."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.python_workers import archive, map_in_arrow

#: Imports a module, and prints whether it is in the archive, and which other packages it has imported.
_IMPORT = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
before = {name.partition(".")[0] for name in sys.modules}
found = importlib.import_module(sys.argv[2])
after = {name.partition(".")[0] for name in sys.modules} - before - sys.stdlib_module_names
print(found.__file__.startswith(sys.argv[1]), *sorted(after - {"lineage_bridge_dagster"}))
"""


@pytest.mark.parametrize(
    ("module", "needed", "unneeded"),
    [
        ("spark.decoding.protobuf", {"google", "pyiceberg"}, set()),
    ],
)
def test_archive_has_all_that_workers_import(module: str, needed: set[str], unneeded: set[str]) -> None:
    command = [sys.executable, "-P", "-c", _IMPORT, str(archive()), f"lineage_bridge_dagster.{module}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={})
    from_archive, *packages = done.stdout.split()
    assert from_archive == "True"
    assert needed <= set(packages)
    assert not {"dagster", "boto3", "tenacity", "httpx", "confluent_kafka", *unneeded} & set(packages)


class Session:
    """A session, or its context, that records what was sent to workers."""

    def __init__(self, master: str = "") -> None:
        self.sparkContext = self.sparkSession = self
        self.master = master
        self.sent: list[str] = []

    def addPyFile(self, path: str) -> None:
        self.sent.append(path)

    def addArtifacts(self, path: str, *, pyfile: bool) -> None:
        assert pyfile
        self.sent.append(path)

    def mapInArrow(self, *_: Any) -> str:
        return "mapped"


@pytest.mark.parametrize(("master", "times"), [("spark://host:7077", 1), ("yarn", 1), ("local[2]", 0)])
def test_code_is_sent_once_to_workers_elsewhere(master: str, times: int) -> None:
    session: Any = Session(master)
    assert [map_in_arrow(session, iter, "id long") for _ in range(2)] == ["mapped"] * 2  # type: ignore[arg-type]
    assert session.sent == [str(archive())] * times


def test_code_is_sent_to_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classic, "is_classic", lambda _: False)
    session: Any = Session()
    map_in_arrow(session, iter, "id long")  # type: ignore[arg-type]
    assert session.sent == [str(archive())]
