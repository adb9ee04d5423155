"""Folders and files of a local stack."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lineage_bridge_dagster.errors import ConfigurationError

HOME_VARIABLE = "LINEAGE_BRIDGE_LOCAL_HOME"
DEFAULT_HOME = ".lineage-bridge"

#: Marks a folder as a stack's home, so that `reset` never removes any other folder.
MARKER = ".lineage-bridge-local"

#: Entries that a home may contain before it is marked.
_OWN_ENTRIES = frozenset(
    {"data", "logs", "run", "dagster", "production", "stack.json", "stack.env", ".gitignore", MARKER}
)


@dataclass(frozen=True, slots=True)
class StackPaths:
    """The home folder of one stack. Stacks with different homes are independent."""

    home: Path

    @classmethod
    def find(cls, env: Mapping[str, str] | None = None) -> Self:
        """`$LINEAGE_BRIDGE_LOCAL_HOME`, else `.lineage-bridge` in the current folder."""
        named = (os.environ if env is None else env).get(HOME_VARIABLE)
        return cls(Path(named or DEFAULT_HOME).expanduser().absolute())

    @property
    def data(self) -> Path:
        """Data that `down` keeps: one folder per component."""
        return self.home / "data"

    @property
    def logs(self) -> Path:
        """One log file per component."""
        return self.home / "logs"

    @property
    def run(self) -> Path:
        """Pid files and locks."""
        return self.home / "run"

    @property
    def stack_file(self) -> Path:
        """Ports, broker addresses and URLs, as JSON."""
        return self.home / "stack.json"

    @property
    def env_file(self) -> Path:
        """The variables that point lineage-bridge at the stack, for `set -a; . stack.env`."""
        return self.home / "stack.env"

    @property
    def spark_token(self) -> Path:
        """The token of the Spark Connect server, readable by this user alone."""
        return self.run / "spark.token"

    @property
    def is_marked(self) -> bool:
        """Whether the folder is a stack's home."""
        return (self.home / MARKER).is_file()

    def prepare(self) -> None:
        """Create the folders, and mark the home as a stack's.

        Raises:
            ConfigurationError: the folder contains other files, or cannot be written.
        """
        try:
            if self.home.exists() and not self.is_marked:
                unknown = sorted(
                    entry.name for entry in self.home.iterdir() if entry.name not in _OWN_ENTRIES
                )
                if unknown:
                    raise ConfigurationError(
                        f"{self.home} is not the home of a local stack: it has {', '.join(unknown[:3])}.",
                        hint=f"Set {HOME_VARIABLE} to an empty or new folder.",
                    )
            for folder in (self.home, self.data, self.logs, self.run):
                folder.mkdir(parents=True, exist_ok=True)
            (self.home / MARKER).write_text(
                "The home of a local stack of lineage-bridge.\n", encoding="utf-8"
            )
            (self.home / ".gitignore").write_text("*\n", encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(
                f"{self.home} cannot be used: {error.strerror or error}.",
                hint=f"Set {HOME_VARIABLE} to a writable folder.",
            ) from error
