"""Time to load the code location, compared with plain Dagster definitions of the same assets.

    python benchmarks/load_location.py
    python benchmarks/load_location.py --tables 1000 --repeats 5 --no-checks
    python benchmarks/load_location.py --tables 10000 --checks --reload

A load is what a code server does with its stored state: read it, build the definitions, resolve the
repository and its jobs, and serialize the snapshot that the webserver and the daemon each fetch, without the
jobs' own snapshots, which they fetch later; imports are not counted. The plain definitions have the same
asset specs, dependencies, bundles and check specs, prepared as plain values: no state, no translation, no
jobs, no sensor. Each measurement is a process of its own, in seconds of CPU time, which other work on the
machine hardly changes. With `--reload` it is the second load of a process, after a table came and everything
else was seen again: what a code server does. The figures are medians, with minimum and maximum. The ratios
are ours to the plain one's.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagster import (
    AssetChecksDefinition,
    AssetCheckSpec,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
    Definitions,
    RepositoryDefinition,
    multi_asset,
    multi_asset_check,
)
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster_shared.serdes import serialize_value

from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.yaml_fields import AwsConfig
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.spark.io import manager as _imported_by_a_load  # noqa: F401 - it is not counted

#: When all but the last table was seen before.
EARLIER = "2026-04-29T12:00:00Z"


def main() -> None:
    """Print the measurements."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tables", type=int, nargs="+", default=[1_000, 10_000], help="sizes to measure")
    options.add_argument("--repeats", type=int, default=3, help="processes per measurement")
    options.add_argument(
        "--checks", action=argparse.BooleanOptionalAction, help="only with checks, or only without"
    )
    options.add_argument("--reload", action="store_true", help="measure the second load of a process")
    # For one measurement in a child process.
    options.add_argument("--measure", choices=["ours", "plain"], help=argparse.SUPPRESS)
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.measure:
        print(json.dumps(measure(chosen.measure, chosen.folder, chosen.checks, chosen.reload)))
        return
    header = ("tables", "checks", "assets", "", "definitions", "repository", "snapshot", "load s", "peak MiB")
    print("{:>7} {:>6} {:>7} {:<6}{:>12}{:>11}{:>10}{:>20}{:>10}".format(*header))
    for tables in chosen.tables:
        for checks in [chosen.checks] if chosen.checks is not None else [True, False]:
            with tempfile.TemporaryDirectory() as folder:
                compare(tables, checks, chosen.repeats, Path(folder), chosen.reload)


def compare(tables: int, checks: bool, repeats: int, folder: Path, reload: bool) -> None:
    """Measure both at one size."""
    from synthetic import synthetic

    # As a refresh stores it.
    graph_json.dump(limited(synthetic(tables), "redacted"), folder / "state", with_caches=True)
    before = synthetic(tables - 1)
    for node in [*before.graph.nodes.values()]:
        before.graph.nodes[node.node_id] = replace(node, last_seen=EARLIER)
    for edge in [*before.graph.edges.values()]:
        before.graph.edges[edge.key] = replace(edge, last_seen=EARLIER)
    graph_json.dump(
        limited(replace(before, discovered_at=EARLIER), "redacted"), folder / "before", with_caches=True
    )
    with (folder / "plain").open("wb") as file:
        pickle.dump(list(as_values(ours(folder, checks))), file)
    loads, peaks, sizes = {}, {}, {}
    for side in ("plain", "ours"):
        runs = [_in_a_process(side, folder, checks, reload) for _ in range(repeats)]
        median = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        totals = [run["load"] for run in runs]
        loads[side], peaks[side] = median["load"], median["peak"]
        sizes[side] = [median[name] for name in ("assets", "deps", "check_specs")]
        load = f"{median['load']:.2f} ({min(totals):.2f}-{max(totals):.2f})"
        print(
            f"{tables:>7,} {'on' if checks else 'off':>6} {median['assets']:>7,.0f} {side:<6}"
            f"{median['definitions']:>12.2f}{median['repository']:>11.2f}{median['snapshot']:>10.2f}"
            f"{load:>20}{median['peak']:>10.0f}",
            flush=True,
        )
    assert sizes["ours"] == sizes["plain"], f"different assets, dependencies or checks: {sizes}"
    ratio, memory = loads["ours"] / loads["plain"], peaks["ours"] / peaks["plain"]
    print(f"{'':>23}ratio: {ratio:.2f} of time, {memory:.2f} of memory", flush=True)


def _in_a_process(side: str, folder: Path, checks: bool, reload: bool) -> dict[str, Any]:
    flags = ["--checks" if checks else "--no-checks", *(["--reload"] if reload else [])]
    command = [sys.executable, __file__, "--measure", side, "--folder", str(folder), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(side: str, folder: Path, checks: bool, reload: bool) -> dict[str, Any]:
    """Measure one load: seconds of each step, and the peak memory of the process in MiB."""
    values = pickle.loads((folder / "plain").read_bytes()) if side == "plain" else []  # noqa: S301 - our own
    if reload:
        first = ours(folder, checks, "before") if side == "ours" else plain(values)
        # As a code server, which has it until the next one is complete.
        served = first.get_repository_def()
        served.load_all_definitions()
    start = time.process_time()
    definitions = ours(folder, checks) if side == "ours" else plain(values)
    built = time.process_time()
    repository: RepositoryDefinition = definitions.get_repository_def()
    repository.load_all_definitions()
    resolved = time.process_time()
    serialize_value(RepositorySnap.from_def(repository, defer_snapshots=True))
    end = time.process_time()
    graph = repository.asset_graph
    # Kibibytes on Linux, bytes on macOS.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return {
        "definitions": built - start,
        "repository": resolved - built,
        "snapshot": end - resolved,
        "load": end - start,
        "peak": peak,
        "assets": len(graph.get_all_asset_keys()),
        "deps": sum(len(graph.get(key).parent_keys) for key in graph.get_all_asset_keys()),
        "check_specs": len(graph.asset_check_keys),
    }


def ours(folder: Path, checks: bool, state: str = "state") -> Definitions:
    """The component's definitions for the stored state."""
    component = LineageBridgeComponent(aws=AwsConfig(region="us-east-1"), checks=checks)
    return component.build_defs_from_state(None, folder / state)  # type: ignore[arg-type]


def as_values(definitions: Definitions) -> Iterator[dict[str, Any]]:
    """Every bundle, or asset without one, as plain values."""
    for assets in definitions.assets or ():
        if isinstance(assets, AssetSpec):
            yield {"name": "", "specs": [_spec(assets)], "checks": []}
        elif isinstance(assets, AssetsDefinition):
            checks = [(list(check.asset_key.path), check.name) for check in assets.check_specs]
            name = assets.op.name if assets.is_executable else ""
            yield {"name": name, "specs": [_spec(spec) for spec in assets.specs], "checks": checks}


def _spec(spec: AssetSpec) -> dict[str, Any]:
    return {
        "key": list(spec.key.path),
        "deps": [list(dep.asset_key.path) for dep in spec.deps],
        "description": spec.description,
        "group_name": spec.group_name,
        "owners": list(spec.owners),
        "tags": dict(spec.tags),
        "metadata": {
            name: value for name, value in spec.metadata.items() if not name.startswith("dagster/io_manager")
        },
    }


def plain(bundles: list[dict[str, Any]]) -> Definitions:
    """Definitions of the same assets and checks."""
    assets: list[AssetsDefinition | AssetSpec] = []
    asset_checks: list[AssetChecksDefinition] = []
    for bundle in bundles:
        specs = [
            AssetSpec(
                AssetKey(spec["key"]),
                deps=[AssetKey(dep) for dep in spec["deps"]],
                **{name: value for name, value in spec.items() if name not in ("key", "deps")},
            )
            for spec in bundle["specs"]
        ]
        checks = [AssetCheckSpec(name, asset=AssetKey(key)) for key, name in bundle["checks"]]
        if not bundle["name"]:
            assets.extend(specs)
        elif not specs:
            check_bundle = multi_asset_check(name=bundle["name"], specs=checks, can_subset=True)
            asset_checks.append(check_bundle(lambda: iter(())))
        else:
            asset_bundle = multi_asset(name=bundle["name"], specs=specs, check_specs=checks, can_subset=True)
            assets.append(asset_bundle(lambda: None))
    return Definitions(assets=assets, asset_checks=asset_checks)


if __name__ == "__main__":
    main()
