"""The committed list of archives."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.jars import checksums, fetch


def test_every_dependency_has_a_checksum_and_none_is_transitive() -> None:
    root = ElementTree.parse(fetch.IVY_FILE).getroot()  # noqa: S314 - our own file
    named: dict[str, int] = {}
    for dependency in root.iter("dependency"):
        assert dependency.get("transitive") == "false"
        need = str(dependency.get("conf")).partition("->")[0]
        # A dependency names its artifacts only if it is more than its main one, such as a test archive.
        named[need] = named.get(need, 0) + max(1, len(dependency.findall("artifact")))
    listed: dict[str, int] = {}
    for archive in checksums.read():
        listed[archive.need] = listed.get(archive.need, 0) + 1
    assert named == listed
    assert set(named) == set(jars.NEEDS)
