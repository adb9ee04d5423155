"""The tables of families."""

from __future__ import annotations

import json

from lineage_bridge_dagster.confluent.connectors.families import family_of
from lineage_bridge_dagster_tests.conftest import shared


def test_every_managed_template_has_a_family() -> None:
    templates = json.loads(shared("confluent", "managed_connectors.json").read_text())["connectors"]
    assert len(templates) > 100
    for template in templates:
        direction = template["type"][0].lower()
        for name in (template["file"], *template["connector_class"]):
            family = family_of(name)
            assert family is not None, name
            assert family.direction == direction, name
