"""`make` installs the locked packages with progress, and takes no half-installed environment as ready."""

from __future__ import annotations

import doctest
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from lineage_bridge_dagster_tests.dagster_ui import eventually
from lineage_bridge_dagster_tests.tools.clone import Clone, write_wheel
from tools import set_up


@dataclass
class Installed:
    """A clone in which everything is installed, and what `make` printed."""

    clone: Clone
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    clone = Clone.make(tmp_path_factory.mktemp("setup"))
    return Installed(clone, *clone.run("jars"))


@pytest.fixture
def clone(installed: Installed) -> Clone:
    """The clone, whose last setup may have failed."""
    return installed.clone


def test_setup_from_nothing_builds_pyspark_and_downloads_archives(installed: Installed) -> None:
    out, clone = installed.out, installed.clone
    assert installed.code == 0, out + installed.err
    assert "Setting up .venv (about" in out
    steps = ("uv", "The locked packages", "lineage-bridge itself", "The Java archives")
    ended = [out.index(f"{step}: installed in") for step in steps]
    assert ended == sorted(ended)
    assert out.index("Setup is complete") < out.rindex("spark: 1 archives")
    assert "pyspark==1" in installed.err
    assert "\r" not in out + installed.err
    assert clone.value("alpha.VALUE + beta.VALUE", "alpha, beta") == "2"
    assert "--compression=stored" in clone.value("pyspark.BUILT", "pyspark")
    assert clone.value("ours.__name__", "ours") == "ours"


def test_package_whose_installation_was_interrupted_is_installed_again(clone: Clone) -> None:
    (clone.site_packages / "alpha-1.dist-info" / "INSTALLER").unlink()
    (clone.site_packages / "alpha.py").unlink()
    clone.require("pyspark", "alpha", "beta")
    assert clone.run("jars")[0] == 0
    assert clone.value("alpha.VALUE", "alpha") == "1"
    assert clone.ready
    # Nothing is set up again.
    assert clone.run("jars")[1].startswith("/bin/java\nspark: 1 archives in a folder\n")


@pytest.mark.parametrize(
    ("names", "wrong", "message", "hint"),
    [
        (("gamma",), "", "gamma was not found", "check the network"),
        (("delta",), "delta", "Hash mismatch for `delta==1`", "try it without a mirror"),
    ],
    ids=["not found", "wrong hash"],
)
def test_failure_names_the_package_and_what_to_do(
    clone: Clone, names: tuple[str, ...], wrong: str, message: str, hint: str
) -> None:
    write_wheel(clone.packages, "delta", "")
    clone.require("alpha", *names, wrong_hash=wrong)
    code, out, err = clone.run("setup")
    assert code == 2
    assert message in err
    assert hint in err
    assert "Run the same command again" in out
    assert not clone.ready


def test_setup_that_is_stopped_leaves_no_process_and_is_not_ready(clone: Clone, tmp_path: Path) -> None:
    for file in clone.site_packages.glob("pyspark-1.dist-info/INSTALLER"):
        file.unlink()
    clone.require("pyspark", "alpha")
    building = tmp_path / "building"
    process = clone.start("setup", BUILD_WAITS=str(building))
    try:
        builder = int(eventually(lambda: building.exists() and building.read_text(), 240, "the build"))
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=240)
    finally:
        _end(process)
    assert process.returncode != 0
    assert "Interrupted. Run the same command again" in out
    eventually(lambda: not psutil.pid_exists(builder), 60, "the end of the build")
    assert not clone.ready


def _end(process: subprocess.Popen[str]) -> None:
    """End what a failed test left."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def test_uv_is_told_what_pip_is_told() -> None:
    listed = """\
:env:.find-links='/wheels /more'
:env:.no-index='1'
global.cert='/etc/ca.pem'
global.index-url='https://general.example/simple'
install.index-url='https://user:pw@index.example/simple'
install.proxy='http://proxy.example:3128'
install.extra-index-url='\\nhttps://a.example/simple\\nhttps://b.example/simple'
download.timeout='5'
"""
    settings = set_up.pip_settings(listed)
    assert settings["no-index"] == "1"
    assert set_up.uv_variables(settings) == {
        "UV_SYSTEM_CERTS": "1",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://user:pw@index.example/simple",
        "UV_INDEX": "https://a.example/simple https://b.example/simple",
        "UV_FIND_LINKS": "/wheels,/more",
        "SSL_CERT_FILE": "/etc/ca.pem",
        "HTTP_PROXY": "http://proxy.example:3128",
        "HTTPS_PROXY": "http://proxy.example:3128",
    }


def test_examples_in_docstrings() -> None:
    result = doctest.testmod(set_up)
    assert result.attempted
    assert not result.failed
