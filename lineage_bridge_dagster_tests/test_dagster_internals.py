"""Only one room imports Dagster's private names; what it makes faster is as Dagster makes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dagster import (
    AssetCheckResult,
    AssetKey,
    AssetsDefinition,
    AssetSelection,
    AssetSpec,
    DagsterInstance,
    DagsterInvalidDefinitionError,
    Definitions,
    In,
    InMemoryIOManager,
    Nothing,
    OpDefinition,
    Out,
    asset,
    asset_check,
    define_asset_job,
)

import lineage_bridge_dagster
from lineage_bridge_dagster.dagster_internals.definitions import BundleOp, CopiedIn, CopiedOut, LocationJob

PACKAGE = Path(lineage_bridge_dagster.__file__).parent


def private_names(tree: ast.Module) -> Iterator[str]:
    """Yield the private names and submodules that a module imports from Dagster's packages."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in imported:
            package, *path = name.split(".")
            if package.split("_")[0] == "dagster" and any(part.startswith("_") for part in path):
                yield name


@pytest.mark.parametrize(
    "source",
    [
        "import dagster._core.storage",
        "from dagster import _check",
        "from dagster._core.definitions import data_version",
        "from dagster_aws._private import client",
        "def f():\n    from dagster._utils.schedules import cron_string_iterator",
    ],
)
def test_private_imports_are_recognized(source: str) -> None:
    assert list(private_names(ast.parse(source)))


def test_only_dagster_internals_imports_private_names() -> None:
    importers = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(private_names(ast.parse(path.read_text())))
    }
    assert {Path(each).parts[0] for each in importers} == {"dagster_internals"}


def test_copied_inputs_and_outputs_are_those_that_dagster_defines() -> None:
    given = {"is_required": False, "io_manager_key": "ours"}
    outputs = [kind(Any, **given) for kind in (Out, CopiedOut)]
    inputs = [kind(Nothing) for kind in (In, CopiedIn)]
    for name in ("one", "two"):
        theirs, ours = (vars(each.to_definition(Any, name, None, None)) for each in outputs)
        assert theirs == ours
        assert ours["_name"] == name
        theirs, ours = (vars(each.to_definition(name)) for each in inputs)
        assert theirs == ours


def test_an_op_of_many_assets_asks_for_all_that_its_inputs_and_outputs_need_once() -> None:
    ins = {name: AssetKey(name) for name in ("first", "second", "elsewhere", "further")}
    outs = {name: AssetKey(["out", name]) for name in ("one", "two", "three")}

    def definition(kind: type[OpDefinition]) -> AssetsDefinition:
        managers = dict(zip(outs, ("ours", "ours", "other"), strict=True))
        bundle = kind(
            lambda _context: None,
            name="bundle",
            ins=dict.fromkeys(ins, In(Nothing)),
            outs={name: Out(is_required=False, io_manager_key=key) for name, key in managers.items()},
            required_resource_keys={"client"},
        )
        return AssetsDefinition(node_def=bundle, keys_by_input_name=ins, keys_by_output_name=outs)

    upstream = [
        AssetSpec(name).with_io_manager_key(key) for name, key in (("first", "ours"), ("second", "own"))
    ]
    managers = ("ours", "other", "own", "io_manager")
    resources: dict[str, Any] = {"client": object(), **{name: InMemoryIOManager() for name in managers}}

    def required(kind: type[OpDefinition], **less: None) -> list[str]:
        given = {key: value for key, value in resources.items() if key not in less}
        found = Definitions(assets=[definition(kind), *upstream], resources=given)
        job = found.get_repository_def().get_job("__ASSET_JOB")
        return [each.key for each in job._get_resource_requirements()]

    theirs, mine = required(OpDefinition), required(BundleOp)
    assert set(theirs) == set(mine) == resources.keys()
    assert len(mine) < len(theirs)
    for name in ("client", "other", "own"):
        with pytest.raises(DagsterInvalidDefinitionError, match=name):
            required(BundleOp, **{name: None})


@pytest.mark.parametrize("others", [False, True])
def test_the_job_over_everything_is_the_one_that_dagster_defines(others: bool) -> None:
    @asset
    def ours() -> None: ...

    @asset_check(asset=ours)
    def check() -> AssetCheckResult:
        return AssetCheckResult(passed=True)

    @asset
    def beside() -> None: ...

    selection = AssetSelection.assets(ours)
    jobs = [define_asset_job("theirs", selection), LocationJob("ours", selection)]
    assets = [ours, *([beside] if others else [])]
    found = Definitions(assets=assets, asset_checks=[check], jobs=jobs).get_repository_def()
    theirs, mine = (found.get_job(name) for name in ("theirs", "ours"))
    assert mine.asset_layer.executable_asset_keys == theirs.asset_layer.executable_asset_keys == {ours.key}
    assert {node.name for node in mine.nodes} == {node.name for node in theirs.nodes}
    with DagsterInstance.ephemeral() as instance:
        run = mine.execute_in_process(instance=instance)
        assert len(run.get_asset_check_evaluations()) == 1
        assert [event.asset_key for event in run.get_asset_materialization_events()] == [ours.key]
