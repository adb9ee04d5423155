"""Command lines, which every user of a machine may read."""

from __future__ import annotations

import psutil


def command_lines(process: psutil.Process) -> list[str]:
    """The command lines of a process and of all below it, but for those that have ended."""
    lines = []
    for each in (process, *process.children(recursive=True)):
        try:
            lines.append(" ".join(each.cmdline()))
        except psutil.NoSuchProcess:  # A zombie is one, too: its parent has not asked for it yet.
            continue
    return lines
