"""Runs checks concurrently. A check that fails, hangs or has a bug is a finding and stops no other."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Check, Finding, Result, failed
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.text import first_few

_log = logging.getLogger(__name__)

#: Receives how many checks are done, of how many, and the names of those still running.
Progress = Callable[[int, int, Sequence[str]], None]


def _silent(_done: int, _total: int, _running: Sequence[str]) -> None:
    return None


def run_checks(checks: Sequence[Check], context: Context, progress: Progress = _silent) -> list[Finding]:
    """Run all checks at the same time and return their findings in the checks' order.

    A check that exceeds its time limit is reported with what it has found so far. Its thread cannot be
    stopped, but ends with the process.
    """
    answers: queue.Queue[tuple[Check, Result | None]] = queue.Queue()
    found: dict[str, list[Finding]] = {check.name: [] for check in checks}
    running = {check.name: check for check in checks}
    began = time.monotonic()
    for check in checks:
        threading.Thread(
            target=_run, args=(check, context, answers), name=f"doctor-{check.name}", daemon=True
        ).start()
    while running:
        progress(len(checks) - len(running), len(checks), list(running))
        deadline = began + min(check.time_limit for check in running.values())
        try:
            check, result = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            for late in [one for one in running.values() if began + one.time_limit <= time.monotonic()]:
                del running[late.name]
                found[late.name].append(_too_late(late).of(late.name))
            continue
        if check.name not in running:
            continue
        if result is None:
            del running[check.name]
        else:
            found[check.name].append(result.of(check.name, context.hide))
    progress(len(checks), len(checks), ())
    return [finding for check in checks for finding in found[check.name]]


def _run(check: Check, context: Context, answers: queue.Queue[tuple[Check, Result | None]]) -> None:
    try:
        for result in check.run(context):
            answers.put((check, result))
    except LineageBridgeError as error:
        answers.put((check, failed(check.question, error.message, error.hint)))
    except Exception as error:
        _log.debug("The check %s failed", check.name, exc_info=True)
        answers.put((check, _unexpected(check, error)))
    finally:
        answers.put((check, None))


def _unexpected(check: Check, error: Exception) -> Result:
    text = first_few(str(error).strip().splitlines(), 1) or "no message"
    return failed(
        check.question,
        f"{type(error).__name__}: {redact_text(text)}",
        "The check itself failed: run it alone with LINEAGE_BRIDGE_LOG_LEVEL=DEBUG "
        f"(`lineage-bridge doctor --only {check.name}`).",
    )


def _too_late(check: Check) -> Result:
    return failed(
        check.question,
        f"No answer within {check.time_limit:g} seconds.",
        "Check the network, proxies and firewalls between this machine and the service (see the check "
        f"network.endpoints), then run `lineage-bridge doctor --only {check.name}`.",
    )
