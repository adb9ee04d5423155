"""The README says what is so."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import click

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.glue.policies import discovery_policy, freshness_policy, push_policy
from lineage_bridge_dagster_tests.assets.world import EAST, world

README = (Path(__file__).parents[1] / "README.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", README, re.MULTILINE | re.DOTALL)


def test_the_iam_policy_is_the_one_that_the_code_needs() -> None:
    place = ("111122223333", "us-east-1", ["analytics_eu", "lkc-abc123"])
    policy = json.loads(_blocks("json")[0])
    assert policy["Statement"] == [
        *discovery_policy(*place)["Statement"],
        *push_policy(*place)["Statement"],
        *freshness_policy("us-east-1", ["your-tableflow-bucket"])["Statement"],
    ]


def test_its_own_translation_changes_keys_groups_owners_and_descriptions() -> None:
    names: dict[str, Any] = {}
    exec(_blocks("python")[0], names)  # noqa: S102 - the README's own example
    inventory = names["OurLineage"]()._inventory(world().discovery())
    spec = next(asset for asset in inventory.tables if asset.key.path[-1] == "o.v1").spec
    assert spec.key.path == ["lake", "glue", EAST, "o.v1"]
    assert (spec.group_name, spec.owners) == ("lake/catalog_table", ["team:data-platform"])
    assert spec.description.endswith("Questions: #data-platform")
    assert [key.path for key in inventory.deps_of[spec.key]] == [["lake", "upstream_chain", EAST, "o.v1"]]


def test_every_command_that_it_names_is_there() -> None:
    commands = re.findall(r"lineage-bridge ((?:[a-z-]+ ?)+)", README)
    assert len(commands) >= 5
    for words in commands:
        command: click.Command = main
        for word in shlex.split(words):
            if not isinstance(command, click.Group):
                break
            found = command.commands.get(word)
            assert found is not None, f"lineage-bridge {words}"
            command = found


def test_every_variable_that_it_names_is_read() -> None:
    """Each LINEAGE_BRIDGE_* of the README stands in the code, by name or by the prefix it is made of."""
    package = Path(__file__).parents[1] / "lineage_bridge_dagster"
    code = "\n".join(path.read_text() for path in package.rglob("*") if path.suffix in (".py", ".yaml"))
    fields = {
        name.upper() for group in Settings.model_fields.values() for name in group.annotation.model_fields
    }
    planes = ("CONFLUENT_CLOUD", "KAFKA", "SCHEMA_REGISTRY", "FLINK", "KSQLDB", "TABLEFLOW")
    for name in set(re.findall(r"LINEAGE_BRIDGE_([A-Z_]+[A-Z])", README)):
        known = (
            f"LINEAGE_BRIDGE_{name}" in code
            or any(name.startswith(f"{plane}_API_") for plane in planes)
            or name in fields
            or any(name == f"{group.upper()}_{field}" for group in Settings.model_fields for field in fields)
        )
        assert known, name


def test_every_image_that_it_shows_is_there_and_small() -> None:
    for image in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        path = Path(__file__).parents[1] / image
        assert path.is_file(), f"{image}: make screenshots"
        assert path.stat().st_size < 250_000, image
