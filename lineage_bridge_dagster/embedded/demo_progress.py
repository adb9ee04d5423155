"""What the demo shows between the start of Dagster and the last push: the steps of the first runs.

They are read from Dagster's log, which costs nothing while everything starts at once.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from lineage_bridge_dagster.embedded.processes import Tail
from lineage_bridge_dagster.text import ReportLine, plural

#: Seconds between polls of the catalogs until a push begins. Each takes time of the machine, which is
#: busy until then.
_LOOK_SECONDS = 5.0

#: Seconds without news after which the current step is named again.
_SILENCE_SECONDS = 15.0


@dataclass(frozen=True)
class Milestone:
    """A line of the log that tells that a step begins.

    Attributes:
        sign: what the line contains.
        text: the step; `{}` stands for the number of tables in the line.
        seconds: about how long it takes on two cores.
    """

    sign: str
    text: str
    seconds: int

    def found_in(self, line: str) -> str | None:
        """The step's text if the line is its sign."""
        match = re.search(self.sign, line)
        return self.text.format(*(plural(int(n), "table") for n in match.groups())) if match else None


_PUSHING = Milestone("Reading the last commits of", "Pushing lineage to the tables", 3)

#: In the order in which they usually come.
MILESTONES = (
    Milestone("no discovery is stored yet", "The sensor asks for the first discovery", 8),
    Milestone("refresh - Environments: ", "Discovery: reading Confluent's APIs", 3),
    Milestone(r"refresh - Reading the Glue tables", "Discovery: reading Glue and the other catalogs", 2),
    Milestone("refresh - Reloaded the definitions", "The discovery is stored; the UI shows its assets", 5),
    Milestone(r"Requesting the lineage of (\d+) table", "The sensor asks for the lineage of {}", 8),
    Milestone(r"Computing the chains of (\d+) table", "The upstream chains of {}: connecting to Spark", 2),
    Milestone("Spark was ready after", "The upstream chains: computed, and stored with Spark", 15),
    _PUSHING,
)


class DemoProgress:
    """Prints a line for each step when it begins, with the seconds since the demo began."""

    def __init__(
        self, log: Path, show: ReportLine, *, clock: Callable[[], float] = time.monotonic, began: float
    ) -> None:
        # Not the lines of earlier starts.
        self._tail = Tail(log, 0)
        self._tail.read()
        self._show = show
        self._clock = clock
        self._began = began
        self._left = list(MILESTONES)
        self._step = Milestone("", "Dagster starts and loads the code location", 25)
        self._step_began = self._shown_at = clock()
        self._arrived: set[str] = set()
        self._looked_at = -_LOOK_SECONDS

    def line(self, text: str) -> None:
        """Print a line with the seconds since the demo began."""
        self._shown_at = self._clock()
        self._show(f"{self._shown_at - self._began:6.0f} s  {text}")

    def look(self) -> None:
        """Print the steps that have begun since the last look, or the current one after a silence."""
        for line in self._tail.read():
            for milestone in self._left:
                if (text := milestone.found_in(line)) is not None:
                    self._left.remove(milestone)
                    self._step, self._step_began = milestone, self._clock()
                    self.line(f"{text} (about {milestone.seconds} s)")
                    break
        if self._clock() - self._shown_at >= _SILENCE_SECONDS and not self._arrived:
            seconds = self._clock() - self._step_began
            text = self._step.text.partition(":")[0].format("the tables")
            self.line(f"{text}: for {seconds:.0f} s now, usually {self._step.seconds} s")

    @property
    def is_look_due(self) -> bool:
        """Whether it is time to look which tables have their lineage; true once per look."""
        now = self._clock()
        if _PUSHING in self._left and now - self._looked_at < _LOOK_SECONDS:
            return False
        self._looked_at = now
        return True

    def arrived(self, names: Iterable[str], wanted: int) -> None:
        """Print the tables that have their lineage now and did not before, of those that will have it."""
        for name in sorted(set(names) - self._arrived):
            self._arrived.add(name)
            self.line(f"Lineage pushed ({len(self._arrived)} of {plural(wanted, 'table')}): {name}")
