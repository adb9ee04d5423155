"""A small clone with the real Makefile and setup, whose packages come from a folder and not from an index."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: A build backend that needs no package. The wheel's module shows what setuptools would have been told.
_BACKEND = """\
import os, sys, time
from pathlib import Path
sys.path.insert(0, os.environ["BACKEND_HELPERS"])
from lineage_bridge_dagster_tests.tools.clone import write_wheel

def build_wheel(folder, config_settings=None, metadata_directory=None):
    if waiting := os.environ.get("BUILD_WAITS"):
        Path(waiting).write_text(str(os.getpid()))
        time.sleep(600)
    return write_wheel(Path(folder), "NAME", f"BUILT = {config_settings!r}").name

build_editable = build_wheel
"""
_PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "NAME"
version = "1"
"""
#: Stands in for the module that finds Java and downloads its archives.
_ARCHIVES = """\
import sys
for need in sys.argv[1:]:
    print("/bin/java" if need == "--java" else f"{need}: 1 archives in a folder")
"""


def write_wheel(folder: Path, name: str, code: str) -> Path:
    """Write version 1 of a package that is one module, and return its wheel."""
    info = f"{name}-1.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }

    def digest(text: str) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()

    record = "".join(f"{path},sha256={digest(text)},{len(text)}\n" for path, text in files.items())
    wheel = folder / f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(path, text)
    return wheel


def _write_uv(folder: Path) -> None:
    """Write version 1 of uv: a wheel with the real program."""
    here = Path(sys.executable).parent
    program = shutil.which("uv", path=os.pathsep.join((str(here), os.environ.get("PATH", ""))))
    if program is None:
        raise FileNotFoundError("uv is missing; `make setup` installs it")
    wheel = write_wheel(folder, "uv", "")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.write(program, "uv-1.data/scripts/uv")


def _write_source(folder: Path, name: str) -> Path:
    """Write a source archive, which has to be built."""
    source = folder / f"{name}-1.tar.gz"
    texts = {
        "backend.py": _BACKEND.replace("NAME", name),
        "pyproject.toml": _PYPROJECT.replace("NAME", name),
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
    }
    with tarfile.open(source, "w:gz") as archive:
        for path, text in texts.items():
            member = tarfile.TarInfo(f"{name}-1/{path}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return source


@dataclass
class Clone:
    """The clone, and the folder of its packages."""

    root: Path
    packages: Path

    @classmethod
    def make(cls, folder: Path) -> Clone:
        """Create it, with `pyspark` as a source archive, and `alpha` and `beta` as wheels."""
        clone = cls(folder / "clone", folder / "packages")
        clone.packages.mkdir(parents=True)
        (clone.root / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "Makefile", clone.root)
        for module in (ROOT / "tools").glob("*.py"):
            shutil.copy(module, clone.root / "tools")
        (clone.root / "pyproject.toml").write_text(_PYPROJECT.replace("NAME", "ours"))
        (clone.root / "backend.py").write_text(_BACKEND.replace("NAME", "ours"))
        archives = clone.root / "lineage_bridge_dagster" / "jars.py"
        archives.parent.mkdir()
        (archives.parent / "__init__.py").touch()
        archives.write_text(_ARCHIVES)
        _write_uv(clone.packages)
        _write_source(clone.packages, "pyspark")
        for name in ("alpha", "beta"):
            write_wheel(clone.packages, name, "VALUE = 1\n")
        clone.require("pyspark", "alpha", "beta")
        return clone

    @property
    def ready(self) -> bool:
        """Whether the Makefile takes the environment as complete."""
        return (self.root / ".venv" / ".ready").exists()

    @property
    def site_packages(self) -> Path:
        return next((self.root / ".venv" / "lib").glob("python*/site-packages"))

    def require(self, *names: str, wrong_hash: str = "") -> None:
        """Lock these packages, one of them with a hash that it does not have."""
        names = ("uv", *names)
        lines = ["colorama==1 ; sys_platform == 'win32' \\\n    --hash=sha256:" + "0" * 64]
        for name in names:
            files = sorted(self.packages.glob(f"{name}-1*"))
            digest = hashlib.sha256(files[0].read_bytes()).hexdigest() if files else "1" * 64
            digest = "2" * 64 if name == wrong_hash else digest
            lines.append(f"{name}==1 \\\n    --hash=sha256:{digest}")
        (self.root / "requirements.txt").write_text("\n".join(lines) + "\n")
        (self.root / ".venv" / ".ready").unlink(missing_ok=True)

    def start(self, target: str, **env: str) -> subprocess.Popen[str]:
        """Start `make TARGET`."""
        return subprocess.Popen(
            ["make", "-s", target, f"PYTHON={sys.executable}"],
            cwd=self.root,
            env={
                **os.environ,
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": str(self.packages),
                "PIP_NO_CACHE_DIR": "1",
                "UV_CACHE_DIR": str(self.packages.parent / "cache"),
                "BACKEND_HELPERS": str(ROOT),
                **env,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, target: str) -> tuple[int, str, str]:
        """Run `make TARGET`, and return its exit code, stdout and stderr."""
        process = self.start(target)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def value(self, expression: str, module: str) -> str:
        """Evaluate an expression in the environment, after an import."""
        code = f"import {module}; print({expression})"
        python = self.root / ".venv" / "bin" / "python"
        return subprocess.run(
            [python, "-c", code], capture_output=True, text=True, check=True, cwd=self.packages
        ).stdout.strip()
