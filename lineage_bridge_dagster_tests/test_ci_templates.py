"""The templates under docs/ci/: their shell, run as far as it goes without GitHub and GitLab."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lineage_bridge_dagster.impact.render.markdown import MARKER
from lineage_bridge_dagster.lineage.graph_json import dump
from lineage_bridge_dagster_tests.impact.conftest import avro
from lineage_bridge_dagster_tests.impact.test_stored_schemas import OLD, with_schema

CI = Path(__file__).parents[1] / "docs" / "ci"
TEMPLATES = sorted(CI.glob("*.yml"))


def scripts(node: Any) -> Iterator[str]:
    """The shell of a template."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "run":
                yield value
            elif key in ("before_script", "script", "after_script"):
                yield from value
            else:
                yield from scripts(value)
    elif isinstance(node, list):
        for each in node:
            yield from scripts(each)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_the_shell_of_a_template_is_valid_and_posts_one_comment(template: Path) -> None:
    found = [*scripts(yaml.safe_load(template.read_text()))]
    for script in found:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        # What others write, such as the name of a branch, is not part of a script.
        assert "${{" not in script
    assert any("bash ci/impact.sh" in script for script in found)
    assert any(MARKER in script for script in found)


def test_the_script_reports_the_files_that_differ(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=tmp_path, check=True
        )

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)

    def impact() -> int:
        command = ["bash", str(CI / "impact.sh"), "HEAD", str(tmp_path / "graph.json")]
        return subprocess.run(command, cwd=tmp_path, env=env, check=False).returncode

    found = with_schema(registry_compatibility="BACKWARD")
    dump(found, tmp_path / "graph.json")
    write(
        "bin/lineage-bridge",
        f"#!{sys.executable}\nfrom lineage_bridge_dagster.cli.main import main\nmain()\n",
    )
    (tmp_path / "bin" / "lineage-bridge").chmod(0o755)
    root = str(CI.parents[1])
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": root}
    write("schemas/orders-value.avsc", OLD)
    write("connectors/cdc.json", "{}")
    git("init", "-q")
    git("add", "schemas", "connectors")
    git("commit", "-qm", "first")
    assert impact() == 0
    assert (tmp_path / "impact.md").read_text().startswith(f"{MARKER}\n\n### Impact: no schema")
    write("schemas/orders-value.avsc", avro(id="int"))
    (tmp_path / "connectors" / "cdc.json").unlink()
    assert impact() == 0
    text = (tmp_path / "impact.md").read_text()
    assert "2 changes: connector cdc is deleted, orders-value gets a new schema." in text
    assert json.loads((tmp_path / "impact.sarif").read_text())["runs"][0]["results"]
    assert (tmp_path / "impact.xml").read_text().startswith("<?xml")
    write("schemas/orders-value.avsc", avro(id="int", x="int"))
    assert impact() == 1
    write("schemas/orders-value.txt", "")
    git("add", "schemas")
    assert impact() == 2
