from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_bridge_dagster.lineage.files import write_atomically


def test_failed_write_leaves_only_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text("old")

    def broken() -> Iterator[str]:
        yield "new"
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError):
        write_atomically(path, broken())

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["graph.json"]  # noqa: PTH208


def test_new_file_has_default_permissions_and_a_symlink_is_kept(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    count = write_atomically(link, ["a", "b"])

    assert count == 2
    assert link.is_symlink()
    assert (tmp_path / "real").read_text() == "ab"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "plain").stat().st_mode
    )


def test_special_file_is_written_directly() -> None:
    assert write_atomically("/dev/null", ["a"]) == 1
