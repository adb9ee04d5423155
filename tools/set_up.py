"""Installs the locked packages into a virtual environment; `make` calls it.

    python3 -m tools.set_up .venv [--archives NEED ...]

Needs nothing but Python: pip installs uv and setuptools, then uv everything else, each file by its hash.
Then PySpark's Ivy downloads the Java archives. uv shows its progress, and caches what it has downloaded and
built for the next setup. What an interrupted or failed setup has installed is kept.
"""

from __future__ import annotations

import argparse
import ast
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

#: What pip installs: uv, and the build backend of PySpark, which comes as a source archive.
FIRST = ("uv", "setuptools")
#: A wheel that is unpacked a moment later need not be compressed, which takes 10 s of CPU.
UNCOMPRESSED = "pyspark:--build-option=--compression=stored"

#: pip's settings, and the variables with which uv is told the same.
_VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX",),
    "extra-index-url": ("UV_INDEX",),
    "find-links": ("UV_FIND_LINKS",),
    "trusted-host": ("UV_INSECURE_HOST",),
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
    "proxy": ("HTTP_PROXY", "HTTPS_PROXY"),
    "timeout": ("UV_HTTP_TIMEOUT",),
    "default-timeout": ("UV_HTTP_TIMEOUT",),
    "retries": ("UV_HTTP_RETRIES",),
    "no-cache-dir": ("UV_NO_CACHE",),
}
#: uv separates the values of these by commas; of others, which are lists, by spaces.
_BY_COMMA = frozenset({"find-links"})
#: The sections of pip's configuration that count for an installation, from the weakest.
_SECTIONS = ("global", "install", ":env:")


class SetupError(Exception):
    """A step of the setup failed; the message says which, and what to do."""


def requirements(text: str, names: Sequence[str]) -> str:
    """The requirements of a lock file that have these names, with their hashes.

    >>> requirements("# locked\\na==1 \\\\\\n    --hash=sha256:00\\nb==2\\n", ["a"])
    'a==1 \\\\\\n    --hash=sha256:00\\n'
    """
    found = re.findall(r"^[A-Za-z0-9].*\n(?:[ \t]+.*\n)*", text, re.MULTILINE)
    return "".join(each for each in found if re.split("[=<>~! ]", each)[0] in names)


def abandoned(site_packages: Path) -> list[Path]:
    """`dist-info` folders of packages whose installation was interrupted: INSTALLER is written near the end.

    pip and uv take such a package for installed.
    """
    folders = sorted(site_packages.glob("*.dist-info"))
    return [folder for folder in folders if not (folder / "INSTALLER").exists()]


def pip_settings(listed: str) -> dict[str, str]:
    """The settings in what `pip config list` prints, the strongest of each name.

    >>> pip_settings("global.index-url='a'\\n:env:.index-url='b'\\ndownload.timeout='1'\\n")
    {'index-url': 'b'}
    """
    found: dict[str, str] = {}
    for section in _SECTIONS:
        for name, value in re.findall(rf"^{re.escape(section)}\.([\w-]+)=(.*)$", listed, re.MULTILINE):
            found[name] = str(ast.literal_eval(value))
    return found


def uv_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Variables that have uv use pip's indexes, certificates and proxy.

    >>> uv_variables({"find-links": "a\\nb", "no-index": "1"})
    {'UV_SYSTEM_CERTS': '1', 'UV_INDEX_STRATEGY': 'unsafe-best-match', 'UV_FIND_LINKS': 'a,b'}
    """
    # Hashes are locked, so that it does not matter which index has a file.
    found = {"UV_SYSTEM_CERTS": "1", "UV_INDEX_STRATEGY": "unsafe-best-match"}
    for name, variables in _VARIABLES.items():
        if value := settings.get(name, "").split():
            text = ("," if name in _BY_COMMA else " ").join(value)
            found |= dict.fromkeys(variables, text)
    return found


class Setup:
    """The setup of one virtual environment, in the repository's folder.

    Args:
        venv: Its folder.
        lock: A file descriptor that all processes inherit, so that the lock lasts as long as they run.
    """

    def __init__(self, venv: Path, lock: int) -> None:
        self._venv = venv
        self._python = venv / "bin" / "python"
        self._lock = lock

    def run(self, needs: Sequence[str]) -> None:
        """Install everything, and download these sets of Java archives.

        Raises:
            SetupError: A step failed.
        """
        self._create()
        for folder in abandoned(self._site_packages()):
            shutil.rmtree(folder)
        lock_file = Path("requirements.txt")
        if first := requirements(lock_file.read_text(encoding="utf-8"), FIRST):
            self._install_first(first)
        listed = subprocess.run(
            [self._python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
        )
        settings = pip_settings(listed.stdout)
        uv = [str(self._venv / "bin" / "uv"), "pip", "install", "--python", str(self._python)]
        uv += ["--no-build-isolation", *(["--no-index"] if settings.get("no-index") in _TRUE else [])]
        env = {**uv_variables(settings), **os.environ}
        # All dependencies are locked, and to read PySpark's from its archive would take a second download.
        uv.append("--no-deps")
        packages = ["--require-hashes", "--config-settings-package", UNCOMPRESSED, "-r", str(lock_file)]
        self._step("The locked packages", [*uv, *packages], env)
        self._step("lineage-bridge itself", [*uv, "-e", "."], env)
        if needs:
            command = [str(self._python), "-m", "lineage_bridge_dagster.jars", *needs]
            self._step("The Java archives", command, {**os.environ, "PYTHONPATH": str(Path.cwd())})

    def _create(self) -> None:
        created = self._venv / ".created"
        if (created.exists() or (self._venv / ".ready").exists()) and self._has_pip():
            return
        made = subprocess.run(
            [sys.executable, "-m", "venv", "--clear", self._venv], capture_output=True, text=True, check=False
        )
        if made.returncode != 0:
            raise SetupError(
                f"{self._venv} could not be created: {(made.stdout + made.stderr).strip()}\n"
                "  -> sudo apt-get install python3-venv"
            )
        created.touch()

    def _has_pip(self) -> bool:
        with suppress(OSError):
            pip: list[str | Path] = [self._python, "-m", "pip", "--version"]
            return subprocess.run(pip, capture_output=True, check=False).returncode == 0
        return False

    def _site_packages(self) -> Path:
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        done = subprocess.run([self._python, "-c", code], capture_output=True, text=True, check=True)
        return Path(done.stdout.strip())

    def _install_first(self, text: str) -> None:
        file = self._venv / "first-requirements.txt"
        file.write_text(text, encoding="utf-8")
        pip = [str(self._python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        self._step("uv", [*pip, "--no-deps", "--require-hashes", "-r", str(file)], os.environ)

    def _step(self, what: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        """Run a command in a session of its own, which ends with this process's interruption."""
        began = time.monotonic()
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, pass_fds=(self._lock,), start_new_session=True
        )
        try:
            code = process.wait()
        except KeyboardInterrupt:
            _end(process)
            raise
        if code != 0:
            raise SetupError(f"{what} could not be installed; the reason is above.\n{_HINT}")
        _say(f"{what}: installed in {time.monotonic() - began:.0f} s")


_TRUE = frozenset({"1", "true", "yes", "on"})
_HINT = (
    "  -> if no package index could be reached, check the network, a proxy (HTTPS_PROXY), and what\n"
    "     `.venv/bin/python -m pip config list` shows; if a hash did not match, try it without a mirror.\n"
    "     About 5 GB of disk space are needed."
)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a step with the processes that it has started."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)


def _say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def locked_for_this_process(path: Path) -> Iterator[int]:
    """Lock a file, and yield its descriptor: of two setups of one folder, the second waits for the first.

    The lock lasts as long as any process that inherited the descriptor, such as one whose parent was killed.
    """
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("Another setup of this folder is running; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Installs the locked packages, with progress.")
    parser.add_argument("venv", type=Path, help="folder of the virtual environment")
    parser.add_argument("--archives", nargs="*", default=[], metavar="NEED", help="Java archives to download")
    options = parser.parse_args(arguments)
    # A supervisor's signal ends the steps too, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with locked_for_this_process(Path("requirements.txt")) as lock:
            _say(f"Setting up {options.venv} (about 2 minutes the first time)")
            Setup(options.venv, lock).run(options.archives)
    except SetupError as error:
        print("Setup failed; what is installed is kept. Run the same command again after this:", flush=True)
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        _say("Interrupted. Run the same command again to go on from here.")
        return 130
    _say("Setup is complete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
