"""Names that users write down do not change by accident."""

from __future__ import annotations

from lineage_bridge_dagster_tests.interface import FILE, HOW_TO_ADD, VERSION, current, recorded

_BREAKING = f"""
Users have these names in YAML, selections, alerts, scripts, queries or dashboards, and they would break:
{{lost}}
Keep them. If one has to go: tell under "Breaking" in CHANGELOG.md what to write instead; read what is stored
under the old name for one more version, or raise the version of its format in formats.py
and have `lineage-bridge migrate` say what becomes of it; then remove the name from {FILE.name} by hand."""


def test_no_name_of_the_interface_is_gone() -> None:
    now = current()
    lost = [
        f"  {kind}: {' '.join(sorted(names - now.get(kind, set())))}"
        for kind, names in recorded().items()
        if names - now.get(kind, set())
    ]
    assert not lost, _BREAKING.format(lost="\n".join(lost))


def test_the_names_are_those_of_this_version() -> None:
    """New ones may change until their version is released; then they are added."""
    assert VERSION in FILE.read_text().splitlines()[0], f"Before a release, run: {HOW_TO_ADD}"
