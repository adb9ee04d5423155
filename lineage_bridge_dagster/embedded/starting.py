"""Starts the components of a stack, and waits until they respond."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.components import MATERIALIZER, Component, NotReadyError
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.text import ReportLine


class StackError(LineageBridgeError):
    """A component of the stack did not start, or is not running."""


class Starter:
    """Starts components and waits for them."""

    def __init__(self, paths: StackPaths) -> None:
        self.paths = paths

    def start(self, components: Sequence[Component], progress: ReportLine) -> dict[str, processes.Running]:
        """Start the components that are not running, concurrently, and restart those that do not respond."""
        running = processes.find(self.paths)
        missing = [c for c in components if c.name not in running]
        hung = [c for c in components if c.name in running and not self._responds(c, running[c.name])]
        if hung:
            progress(f"Restarting {', '.join(c.name for c in hung)}: no response")
            processes.stop(self.paths, [c.name for c in hung])
        elif missing:
            # Leftovers of a killed component, such as a JVM, would block the new one.
            processes.stop(self.paths, [c.name for c in missing])
        with ThreadPoolExecutor(len(components) or 1) as pool:
            for preparation in [pool.submit(c.prepare) for c in (*missing, *hung)]:
                preparation.result()
        for component in (*missing, *hung):
            running[component.name] = processes.start(
                self.paths, component.name, component.command(), component.env()
            )
        return running

    def _responds(self, component: Component, running: processes.Running) -> bool:
        until = time.monotonic() + (10 if component.name != MATERIALIZER else component.patience)
        while processes.is_alive(running.process) and time.monotonic() < until:
            with contextlib.suppress(NotReadyError):
                component.check()
                return True
            time.sleep(0.3)
        return False

    def wait(
        self,
        components: Sequence[Component],
        running: Mapping[str, processes.Running],
        began: float,
        progress: ReportLine,
    ) -> None:
        waiting = list(components)
        start = reported = time.monotonic()
        reasons: dict[str, str] = {}
        while waiting:
            for component in list(waiting):
                try:
                    detail = component.check()
                except NotReadyError as error:
                    reasons[component.name] = error.message
                else:
                    waiting.remove(component)
                    where = f" at {component.address}" if component.address else ""
                    progress(
                        f"  {component.title} ready{where} after {time.monotonic() - began:.0f} s: {detail}"
                    )
                    continue
                dead = not processes.is_alive(running[component.name].process)
                if dead or time.monotonic() - start > component.patience:
                    self._fail(component, dead, reasons[component.name])
            if waiting and time.monotonic() - reported > 10:
                reported = time.monotonic()
                progress(f"  waiting for {', '.join(f'{c.name} ({reasons[c.name]})' for c in waiting)}")
            if waiting:
                time.sleep(0.2)

    def _fail(self, component: Component, dead: bool, reason: str) -> None:
        log = processes.log_of(self.paths, component.name)
        problem = "exited" if dead else f"is not ready after {component.patience:.0f} s: {reason}"
        tail = processes.end_of_log(self.paths, component.name)
        raise StackError(
            f"{component.title} ({component.name}) {problem}. The end of its log:\n{tail}",
            hint=f"Read {log}, then run lineage-bridge local up again, or lineage-bridge local down.",
        )
