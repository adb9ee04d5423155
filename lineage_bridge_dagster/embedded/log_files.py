"""Reads log files that grow."""

from __future__ import annotations

import os
from pathlib import Path


class Tail:
    """The last lines of a file, then the lines that are added."""

    def __init__(self, path: Path, lines: int) -> None:
        self._path = path
        self._lines: int | None = lines
        self._at = 0

    def read(self) -> list[str]:
        try:
            with self._path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self._at:
                    self._at = 0
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return []
        complete = data.rpartition(b"\n")[0]
        self._at += len(complete) + 1 if complete else 0
        lines = complete.decode(errors="replace").splitlines()
        if self._lines is not None:
            lines, self._lines = lines[-self._lines :] if self._lines else [], None
        return lines
