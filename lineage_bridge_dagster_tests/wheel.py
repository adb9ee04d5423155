"""A virtual environment with only the built wheel and its declared dependencies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
DISTRIBUTION = "lineage-bridge-dagster"
#: The only files that a build needs.
_SOURCES = (
    "lineage_bridge_dagster",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "dagster.yaml",
    "workspace.yaml",
    "deploy",
)


@dataclass(frozen=True)
class WheelEnvironment:
    """A virtual environment and the wheel that is installed in it."""

    root: Path
    wheel: Path

    @property
    def site_packages(self) -> Path:
        base = str(self.root)
        return Path(sysconfig.get_path("purelib", "venv", vars={"base": base, "platbase": base}))

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    def run(
        self, *command: str, cwd: Path, check: bool = True, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment, isolated from the developer's own variables."""
        env = {"PATH": f"{self.bin}{os.pathsep}/usr/bin:/bin", "HOME": str(self.root), "NO_COLOR": "1"}
        env |= {"VIRTUAL_ENV": str(self.root), "COLUMNS": "200", "PYTHONWARNINGS": "ignore"}
        env |= variables or {}
        process = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if check:
            assert process.returncode == 0, f"{' '.join(command)}\n{process.stdout}\n{process.stderr}"
        return process


def build_wheel(folder: Path) -> Path:
    """Build the wheel from a copy of the sources, with the locked build backend and no network."""
    copy = folder / "sources"
    copy.mkdir(parents=True)
    for name in _SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=copy,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, root: Path) -> WheelEnvironment:
    """Create a virtual environment with the wheel and its declared dependencies, without extras.

    The dependencies are linked from the tests' own environment, which has them at locked versions.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    environment = WheelEnvironment(root, wheel)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(root / "bin/python")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    for dependency in _dependencies(environment):
        _link(dependency, environment)
    return environment


def _dependencies(environment: WheelEnvironment) -> list[Distribution]:
    """Return the wheel's direct and transitive dependencies, as installed in the tests' environment."""
    (wheel,) = distributions(name=DISTRIBUTION, path=[str(environment.site_packages)])
    dependencies: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    pending = list(_requirements(wheel, frozenset()))
    while pending:
        name, extras = pending.pop()
        if (name, extras) not in seen:
            seen.add((name, extras))
            dependencies[name] = distribution(name)
            pending.extend(_requirements(dependencies[name], extras))
    return list(dependencies.values())


def _requirements(dist: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for text in dist.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            yield canonicalize_name(requirement.name), frozenset(requirement.extras)


def _link(dist: Distribution, environment: WheelEnvironment) -> None:
    for name in {Path(file).parts[0] for file in dist.files or () if Path(file).parts[0] != ".."}:
        target = environment.site_packages / name
        if name != "__pycache__" and not target.exists():
            target.symlink_to(Path(str(dist.locate_file(name))))
    for entry in dist.entry_points:
        if entry.group == "console_scripts":
            script = environment.bin / entry.name
            module, _, function = entry.value.partition(":")
            python = environment.bin / "python"
            script.write_text(f"#!{python}\nimport sys\nimport {module} as m\nsys.exit(m.{function}())\n")
            script.chmod(0o755)
