"""A virtual environment that holds the built wheel and what the wheel declares, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
DISTRIBUTION = "lineage-bridge-dagster"
#: What a build reads. Anything else in a checkout must not be needed.
_SOURCES = ("lineage_bridge_dagster", "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True)
class WheelEnvironment:
    """A virtual environment, and the folder that commands run in."""

    root: Path
    wheel: Path

    @property
    def site_packages(self) -> Path:
        base = str(self.root)
        return Path(sysconfig.get_path("purelib", "venv", vars={"base": base, "platbase": base}))

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    def run(self, *command: str, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment without anything of the developer's own."""
        env = {"PATH": f"{self.bin}{os.pathsep}/usr/bin:/bin", "HOME": str(self.root), "NO_COLOR": "1"}
        env |= {"VIRTUAL_ENV": str(self.root), "COLUMNS": "200", "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done


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
    """Make a virtual environment with the wheel and its declared dependencies, extras left out.

    The dependencies are linked from the environment that the tests run in, which has them at locked versions.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    environment = WheelEnvironment(root, wheel)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(root / "bin/python")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    for dependency in _dependencies(environment):
        _link(dependency, environment)
    return environment


def _dependencies(environment: WheelEnvironment) -> list[Distribution]:
    """What the installed wheel requires, directly or not, as the tests' own environment has it."""
    (wheel,) = distributions(name=DISTRIBUTION, path=[str(environment.site_packages)])
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    todo = list(_requirements(wheel, frozenset()))
    while todo:
        name, extras = todo.pop()
        if (name, extras) not in seen:
            seen.add((name, extras))
            found[name] = distribution(name)
            todo.extend(_requirements(found[name], extras))
    return list(found.values())


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
