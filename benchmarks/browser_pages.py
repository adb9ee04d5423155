"""How long the pages of Dagster's UI take to become usable, with many tables, in headless Chromium.

    python benchmarks/browser_pages.py
    python benchmarks/browser_pages.py --tables 1000 --screenshots /tmp/pages
    python benchmarks/browser_pages.py --tables 10000 --locations 10

A webserver serves the definitions of a stored synthetic discovery (`synthetic.py`), each of whose tables has
been pushed once, in one code location or in several, each with some of the clusters. Each page is opened in a
browser without a cache, then again with what the first visit left in it, and once more after one code
location was loaded again with a new table. A page is usable when it shows what it is for, such as the
asset's lineage. On a busy machine the seconds that pass say less than the CPU seconds, of the browser with
its renderers and of the webserver with its code servers; `requests` and `MB` are what the servers answered,
before compression.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import yaml
from dagster import AssetKey, AssetMaterialization, DagsterInstance
from playwright.sync_api import Browser, Page, Response, expect, sync_playwright
from synthetic import TABLES_A_CLUSTER, synthetic

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.dagster_process import free_port, is_listening
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster_tests.assets.world import REGION
from lineage_bridge_dagster_tests.browser.chromium import FLAGS, find_chromium
from lineage_bridge_dagster_tests.browser.pages import DagsterPages
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi, eventually

_PROJECT = Path(__file__).resolve().parents[1]
#: A project's definitions, as `dg` writes them.
_DEFINITIONS = """from pathlib import Path

from dagster import definitions, load_from_defs_folder


@definitions
def defs():
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
"""
#: Milliseconds after which a page counts as not usable at all.
_TIMEOUT = 300_000
#: The table whose pages are opened, which has a longer chain than most.
_TABLE = "lkc-00001/orders.000510.v1"


@dataclass(frozen=True)
class View:
    """What is opened, and when it is usable."""

    name: str
    open: Callable[[DagsterPages], None]


def _graph(dagster: DagsterPages) -> None:
    dagster.open_graph()


def _neighbours(dagster: DagsterPages) -> None:
    dagster.open_graph(f'3+key:"glue/{_TABLE}"+1')
    expect(dagster.page.get_by_text(re.compile("^Materialize"))).to_be_visible()


def _asset(dagster: DagsterPages) -> None:
    dagster.open_asset(f"glue/{_TABLE}")
    expect(
        dagster.metadata("lineage_bridge/upstream").or_(dagster.page.get_by_text("Upstream")).first
    ).to_be_visible()


def _checks(dagster: DagsterPages) -> None:
    dagster.open_asset(f"glue/{_TABLE}", view="checks")
    expect(dagster.page.get_by_text("lineage_in_sync").first).to_be_visible()


def _lineage(dagster: DagsterPages) -> None:
    dagster.open_asset(f"glue/{_TABLE}", view="lineage")
    expect(dagster.node().nth(2)).to_be_visible()


def _catalog(dagster: DagsterPages) -> None:
    dagster.open_list('kind:"aws"')
    expect(dagster.page.get_by_text(re.compile(r"^Iceberg table orders\.")).first).to_be_visible()


_VIEWS = (
    View("graph", _graph),
    View("graph of a table", _neighbours),
    View("table", _asset),
    View("table, checks", _checks),
    View("table, lineage", _lineage),
    View("catalog of tables", _catalog),
)


def main() -> None:
    """Print the measurements."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tables", type=int, nargs="+", default=[1_000, 10_000], help="sizes to measure")
    options.add_argument("--locations", type=int, default=1, help="code locations that share the tables")
    options.add_argument("--screenshots", type=Path, help="folder for a picture of each page")
    options.add_argument("--no-pushes", action="store_true", help="no table has been pushed yet")
    chosen = options.parse_args()
    header = ("tables", "page", "visit", "seconds", "browser CPU", "server CPU", "requests", "MB")
    print("{:>7} {:<20}{:<9}{:>8}{:>13}{:>12}{:>10}{:>8}".format(*header))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        for tables in chosen.tables:
            with served(tables, chosen.locations, pushed=not chosen.no_pushes) as platform:
                for view in _VIEWS:
                    measure(browser, platform, view, tables, chosen.screenshots)


@dataclass
class Platform:
    """A webserver with its code locations, in the last of which new tables appear."""

    url: str
    server: psutil.Process
    home: Path
    #: How many tables the last code location has, and the number of its first one.
    tables: int
    first: int
    location: str

    def add_table(self) -> None:
        """Store a discovery with one more table, and have the code location loaded again."""
        self.tables += 1
        with DagsterInstance.from_config(str(self.home)) as instance:
            _store(instance, self.location, self.tables, self.first)
        name = f'repositoryLocationName: "{self.location}"'
        mutation = f"mutation {{ reloadRepositoryLocation({name}) {{ __typename }} }}"
        # It answers once the code server has started again.
        httpx.post(f"{self.url}/graphql", json={"query": mutation}, timeout=3_600).raise_for_status()
        eventually(lambda: _is_loaded(DagsterUi(self.url)), 3_600, "the code location")


@contextmanager
def served(tables: int, locations: int, *, pushed: bool) -> Iterator[Platform]:
    """A webserver with so many tables in so many code locations."""
    with tempfile.TemporaryDirectory() as folder:
        paths = StackPaths(Path(folder) / "home")
        paths.prepare()
        home = paths.home / "dagster"
        home.mkdir()
        shutil.copy(_PROJECT / "dagster.yaml", home)
        with (home / "dagster.yaml").open("a") as file:
            file.write("\ncode_servers: {local_startup_timeout: 1800}\n")
        workspace, each = paths.home / "workspace.yaml", tables // locations
        if each % TABLES_A_CLUSTER and locations > 1:
            raise SystemExit(f"Each code location needs whole clusters, of {TABLES_A_CLUSTER} tables.")
        names = [f"lineage_{number:02d}" for number in range(locations)]
        workspace.write_text(yaml.safe_dump({"load_from": [_project(paths.home, name) for name in names]}))
        with DagsterInstance.from_config(str(home)) as instance:
            for number, name in enumerate(names):
                _store(instance, name, each, number * each)
            for number in range(tables if pushed else 0):
                key = AssetKey(["glue", f"lkc-{number // 500:05d}", f"orders.{number:06d}.v1"])
                instance.report_runless_asset_event(AssetMaterialization(key))
        port = free_port()
        serve = ["-w", str(workspace), "-h", "127.0.0.1", "-p", str(port)]
        env = {"DAGSTER_HOME": str(home), "LINEAGE_BRIDGE_AWS_REGION": REGION, "PYTHONWARNINGS": "ignore"}
        # As in deploy/example.env, and for a busy machine.
        env |= dict.fromkeys(("DAGSTER_GRPC_MAX_RX_BYTES", "DAGSTER_GRPC_MAX_SEND_BYTES"), "1000000000")
        env["DAGSTER_REPOSITORY_GRPC_TIMEOUT_SECONDS"] = "1800"
        try:
            running = processes.start(paths, "webserver", processes.python("dagster_webserver", *serve), env)
            eventually(lambda: is_listening(port) or None, 3_600, "the webserver")
            url = f"http://127.0.0.1:{port}"
            eventually(lambda: _is_loaded(DagsterUi(url)), 3_600, "the code location", interval=5)
            yield Platform(url, running.process, home, each, tables - each, names[-1])
        finally:
            processes.stop(paths)


def _store(instance: DagsterInstance, location: str, tables: int, first: int) -> None:
    StateStore.of(instance, f"LineageBridgeComponent[{location}]").store(synthetic(tables, first))


def _project(parent: Path, name: str) -> dict[str, Any]:
    """Write a project with an instance of the component, and return its entry in the workspace."""
    package = parent / name / name
    instance = package / "defs" / "lineage"
    instance.mkdir(parents=True)
    (parent / name / "pyproject.toml").write_text(
        f'[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "{name}"\n'
    )
    for folder in (package, package / "defs"):
        (folder / "__init__.py").touch()
    (package / "definitions.py").write_text(_DEFINITIONS)
    component = {
        "type": "lineage_bridge_dagster.component.LineageBridgeComponent",
        "attributes": {"name": name},
    }
    (instance / "defs.yaml").write_text(yaml.safe_dump(component))
    module = {"module_name": f"{name}.definitions", "working_directory": str(parent / name)}
    return {"python_module": {**module, "location_name": name}}


def _is_loaded(ui: DagsterUi) -> bool:
    """Whether the webserver has the code location; one that cannot be loaded counts as loaded in Dagster."""
    error = "locationOrLoadError { ... on PythonError { message causes { message } } }"
    query = f"{{ workspaceOrError {{ ... on Workspace {{ locationEntries {{ loadStatus {error} }} }} }} }}"
    entries = ui.query(query)["workspaceOrError"]["locationEntries"]
    for entry in entries:
        if failure := entry["locationOrLoadError"]:
            raise SystemExit(f"The code location does not load: {failure}")
    return all(entry["loadStatus"] == "LOADED" for entry in entries)


def measure(browser: Browser, platform: Platform, view: View, tables: int, pictures: Path | None) -> None:
    """Open a page three times in a new context, and print what each visit took."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    context.set_default_timeout(_TIMEOUT)
    expect.set_options(timeout=_TIMEOUT)
    for visit in ("first", "second", "reloaded"):
        if visit == "reloaded":
            platform.add_table()
        page = context.new_page()
        traffic = _Traffic(page)
        before = _cpu(_browser()), _cpu(platform.server)
        began = time.monotonic()
        view.open(DagsterPages(page, platform.url))
        seconds = time.monotonic() - began
        spent = _cpu(_browser()) - before[0], _cpu(platform.server) - before[1]
        print(
            f"{tables:>7,} {view.name:<20}{visit:<9}{seconds:>8.1f}{spent[0]:>13.1f}{spent[1]:>12.1f}"
            f"{traffic.requests:>10}{traffic.bytes / 2**20:>8.1f}",
            flush=True,
        )
        if pictures and visit == "second":
            pictures.mkdir(parents=True, exist_ok=True)
            page.wait_for_timeout(2_000)
            page.screenshot(path=pictures / f"{view.name.replace(', ', '_').replace(' ', '_')}_{tables}.png")
        page.close()
    context.close()


class _Traffic:
    """Counts the answers of the webserver to queries."""

    def __init__(self, page: Page) -> None:
        self.requests = self.bytes = 0
        page.on("response", self._count)

    def _count(self, response: Response) -> None:
        if "/graphql" in response.url:
            self.requests += 1
            self.bytes += int(response.headers.get("content-length", 0))


def _browser() -> psutil.Process:
    """The process of Playwright, which has started the browser."""
    return psutil.Process()


def _cpu(root: psutil.Process) -> float:
    """CPU seconds of a process with all that it started."""
    total = 0.0
    for process in [root, *root.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


if __name__ == "__main__":
    main()
