"""`lineage-bridge impact`: exit codes, and changes as teams have them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.graph_json import dump
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.impact.conftest import avro, sink, world
from lineage_bridge_dagster_tests.impact.test_stored import CLUSTER, ENV
from lineage_bridge_dagster_tests.impact.test_stored_schemas import with_schema

WORLD = world(
    {"orders": avro(id="int", region="string?")},
    connectors=[sink("pg", ["orders"], auto_evolve="true")],
    tableflow={"orders": "APPEND"},
)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a team: what exists, and what is to change."""
    monkeypatch.chdir(tmp_path)
    found = with_schema(registry_compatibility="BACKWARD")
    dump(found, Path("graph.json"))
    found.coverage = Coverage([ScopeReport(Scope("connect", ENV, CLUSTER), Status.DENIED, "no role")])
    dump(found, Path("denied.json"))
    plan = {
        "format_version": "1.2",
        "planned_values": {},
        "resource_changes": [
            {
                "address": "confluent_kafka_topic.orders",
                "type": "confluent_kafka_topic",
                "change": {"actions": ["delete"], "before": {"topic_name": "orders"}, "after": None},
            }
        ],
    }
    config = {**WORLD["connectors"][0]["config"], "topics": "other", "tasks.max": 1}
    case = {"id": "case", "world": WORLD, "change": {"kind": "drop", "what": "topic", "name": "orders"}}
    for name, document in {
        "world.json": WORLD,
        "case.json": case,
        "plan.json": plan,
        "config.json": config,
        "list.json": [1],
        # As a registry answers for a version, under a name that tells no type.
        "version3": {"subject": "orders-value", "version": 3, "id": 7, "schema": avro(id="int")},
        "version4": {"subject": "orders-value", "version": 4, "id": 8, "schema": avro(id="int", x="int?")},
    }.items():
        Path(name).write_text(json.dumps(document))
    for name, text in {
        "same.avsc": avro(id="int", region="string?"),
        "dropped.avsc": avro(id="int"),
        "required.json": avro(id="int", region="string?", x="int"),
        "new.avsc": avro(id="int", region="string?", x="int?"),
        "bad.json": "{",
        "deep.json": "[" * 100_000,
        "long.json": "9" * 5_000,
        "number.json": '[{"kind": "drop", "what": "topic", "name": 7}]',
        "schema.txt": "",
        "lines.jsonl": f"{json.dumps(case)}\n\nnonsense\n{json.dumps(WORLD)}\n",
    }.items():
        Path(name).write_text(text)
    Path("latin.sql").write_bytes(b"SELECT '\xe4'")
    Path("packed.json").write_bytes(b"\x1f\x8b")


def report(*arguments: str) -> tuple[int, dict[str, str]]:
    """The exit code, and the verdict on each node."""
    result = run("impact", *arguments, "--json")
    return result.exit_code, {each["node"]: each["verdict"] for each in json.loads(result.stdout)["effects"]}


LOSS = ["--fail-on", "loses_data"]
SUBJECT = ["--subject", "orders-value"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--world", "world.json", "--schema", "same.avsc", *SUBJECT], 0),
        (["--world", "world.json", "--schema", "new.avsc", *SUBJECT, "--compatibility", "NONE"], 0),
        (["--world", "world.json", "--schema", "required.json", *SUBJECT, "--compatibility", "BACKWARD"], 1),
        (["--world", "world.json", "--schema", "dropped.avsc", *SUBJECT, "--old", "dropped.avsc"], 0),
        (["--world", "world.json", "--schema", "version4", *SUBJECT, "--old", "version3", *LOSS], 0),
        (["--world", "world.json", "--schema", "version3", *SUBJECT, "--old", "version4", *LOSS], 1),
        (["--world", "world.json", "--connector", "pg=config.json"], 0),
        (["--world", "world.json", "--connector", "pg=config.json", *LOSS], 1),
        (["--world", "world.json", "--drop", "topic:orders", *LOSS], 1),
        (["--world", "world.json", "--plan", "plan.json", *LOSS], 1),
        (["--world", "case.json", "--change", "case.json", *LOSS], 1),
        (["--graph", "graph.json", "--plan", "plan.json"], 1),
        (["--graph", "graph.json", "--schema", "new.avsc", *SUBJECT], 0),
        (["--graph", "graph.json", "--schema", "dropped.avsc", *SUBJECT, *LOSS], 1),
        # Never green over what could not be read, but red before that.
        (["--graph", "denied.json", "--schema", "new.avsc", *SUBJECT], 3),
        (["--graph", "denied.json", "--plan", "plan.json"], 1),
        (["--graph", "graph.json", "--drop", "topic:nobody"], 3),
    ],
)
def test_exit_codes(arguments: list[str], code: int) -> None:
    assert report(*arguments)[0] == code


def test_changes_count_together() -> None:
    code, found = report(
        *("--world", "world.json", "--schema", "new.avsc", *SUBJECT, "--drop", "connector:pg"),
        *("--schema", "same.avsc", "--subject", "orders-key"),
    )
    # Of the key, no version is known to compare with.
    assert code == 3
    assert found["topic : orders"] == "gains_column"
    assert found["dataset : postgres://db:5432/dw.public.orders"] == "loses_data"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--world", "world.json"], "No change is given"),
        (["--world", "world.json", "--graph", "graph.json", "--drop", "topic:a"], "give one of them"),
        (["--world", "world.json", "--schema", "same.avsc"], "--schema and --subject belong together"),
        (["--world", "world.json", "--drop", "topic:a", "--old", "same.avsc"], "--old belongs to --schema"),
        (["--world", "world.json", "--drop", "topic:a", "--reference", "a=b"], "--reference belongs"),
        (["--world", "world.json", "--schema", "schema.txt", *SUBJECT], "Name it .avsc, .proto or .json"),
        (["--world", "world.json", "--statement", "s"], "is not NAME=FILE"),
        (["--world", "world.json", "--statement", "s=latin.sql"], "latin.sql is not UTF-8"),
        (["--world", "world.json", "--connector", "pg=list.json"], "list.json holds no configuration"),
        (["--world", "world.json", "--drop", "orders"], "Write kind:name"),
        (["--world", "world.json", "--drop", "tabel:orders"], "tabel"),
        (["--world", "world.json", "--plan", "world.json"], "terraform show -json"),
        (["--world", "world.json", "--change", "list.json"], "list.json holds a number"),
        (["--world", "world.json", "--drop", "topik:a"], "does not name anything to drop"),
        (["--world", "bad.json", "--drop", "topic:a"], "bad.json, line 1, column 2: invalid JSON"),
        (["--world", "list.json", "--drop", "topic:a"], "list.json holds a list"),
        (["--world", "missing.json", "--drop", "topic:a"], "missing.json cannot be read"),
        (["--graph", "missing.json", "--drop", "topic:a"], "missing.json"),
        (["--world", "world.json", "--plan", "list.json"], "list.json is not a Terraform plan"),
        (["--world", "deep.json", "--drop", "topic:a"], "deep.json is nested too deeply"),
        (["--world", "long.json", "--drop", "topic:a"], "long.json has a number that is too long"),
        (["--world", "packed.json", "--drop", "topic:a"], "packed.json is compressed with gzip"),
        (["--world", "world.json", "--change", "number.json"], "number.json: name is a number '7'"),
    ],
)
def test_bad_input_says_what_where_and_what_to_do(arguments: Sequence[str], message: str) -> None:
    result = run("impact", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("terminal", "Change: topic orders is deleted"),
        ("markdown", "<!-- lineage-bridge-impact -->"),
        ("json", "{"),
        ("junit", "<?xml"),
        ("sarif", "{"),
    ],
)
def test_forms_go_to_a_file_or_to_stdout(form: str, start: str) -> None:
    arguments = ["--world", "world.json", "--drop", "topic:orders", "--format", form, *LOSS]
    shown = run("impact", *arguments)
    written = run("impact", *arguments, "-o", "report")
    assert (shown.exit_code, written.exit_code, written.stdout) == (1, 1, "")
    assert Path("report").read_text() == shown.stdout
    assert shown.stdout.startswith(start)


def test_lines_are_reported_one_by_one_in_their_order() -> None:
    result = run("impact", "--jsonl", "lines.jsonl")
    good, bad, without_world = map(json.loads, result.stdout.splitlines())
    assert result.exit_code == 0
    assert (good["id"], good["effects"][0]["verdict"]) == ("case", "loses_data")
    assert bad["id"] == 3
    assert bad["error"]
    assert "change is missing" in without_world["error"]


def test_input_comes_from_stdin() -> None:
    document: dict[str, Any] = {"kind": "drop", "what": "topic", "name": "orders"}
    arguments = ["impact", "--world", "world.json", "--change", "-", *LOSS]
    result = CliRunner().invoke(main, arguments, input=json.dumps(document))
    assert result.exit_code == 1


def test_no_java_runs_unless_sql_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py4j.java_gateway", None)
    assert report("--graph", "graph.json", "--plan", "plan.json")[1]["statement : s"] == "breaks"
