"""The runner: checks run at once, and none that fails, hangs or breaks stops another."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.operations.doctor.checks import run_checks
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Check, CheckStatus, Finding, ok, report
from lineage_bridge_dagster_tests.operations.doctor.examined import context_of


def _well(_context: Context) -> Iterator[Finding]:
    yield ok("Tried.", "Well.")


def _broken(_context: Context) -> Iterator[Finding]:
    yield ok("Tried.", "Well so far.")
    raise RuntimeError("password=hunter2hunter2 in a message")


def _misconfigured(_context: Context) -> Iterator[Finding]:
    raise ConfigurationError("No region is set.", hint="Set one.")
    yield


def test_each_failure_is_a_finding_and_the_others_run_all_the_same() -> None:
    checks = [
        Check("a.broken", "Broken?", _broken),
        Check("a.misconfigured", "Misconfigured?", _misconfigured),
        Check("b.well", "Well?", _well),
    ]
    found = run_checks(checks, context_of())
    assert [(one.check, one.status) for one in found] == [
        ("a.broken", CheckStatus.OK),
        ("a.broken", CheckStatus.FAILED),
        ("a.misconfigured", CheckStatus.FAILED),
        ("b.well", CheckStatus.OK),
    ]
    assert "RuntimeError" in found[1].result
    assert "hunter2hunter2" not in found[1].result
    assert (found[2].result, found[2].remedy) == ("No region is set.", "Set one.")


def test_checks_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=30)

    def meet(_context: Context) -> Iterator[Finding]:
        meeting.wait()
        yield ok("Met.", "All were there.")

    found = run_checks([Check(f"a.{n}", "Met?", meet) for n in range(3)], context_of())
    assert [one.status for one in found] == [CheckStatus.OK] * 3


def test_a_check_that_hangs_is_reported_with_what_it_found_until_then() -> None:
    end = threading.Event()

    def hang(_context: Context) -> Iterator[Finding]:
        yield ok("Tried.", "Well so far.")
        end.wait(60)
        yield ok("Tried.", "Too late.")

    try:
        found = run_checks(
            [Check("a.hangs", "Hangs?", hang, time_limit=3), Check("b.well", "Well?", _well)], context_of()
        )
    finally:
        end.set()
    assert [(one.check, one.status) for one in found] == [
        ("a.hangs", CheckStatus.OK),
        ("a.hangs", CheckStatus.FAILED),
        ("b.well", CheckStatus.OK),
    ]
    assert "No answer within 3 seconds" in found[1].result
    assert "--only a.hangs" in found[1].remedy


def test_progress_tells_what_is_still_running() -> None:
    seen: list[tuple[int, int, Sequence[str]]] = []
    run_checks([Check("a.well", "Well?", _well)], context_of(), lambda *args: seen.append(args))
    assert seen[0] == (0, 1, ["a.well"])
    assert seen[-1] == (1, 1, ())


def test_secrets_of_keys_and_of_the_environment_are_hidden_in_all_texts() -> None:
    secrets = {
        "AWS_SECRET_ACCESS_KEY": "aws-secret-0123456789",
        "LINEAGE_BRIDGE_KAFKA_API_KEY": "KEY",
        "LINEAGE_BRIDGE_KAFKA_API_SECRET": "kafka-secret-0123456789",
        "LINEAGE_BRIDGE_CLUSTER_CREDENTIALS": '{"lkc-1": {"api_key": "K", "api_secret": "json-secret-0123"}}',
    }
    texts = "aws-secret-0123456789 kafka-secret-0123456789 json-secret-0123"

    def leak(_context: Context) -> Iterator[Finding]:
        yield ok(texts, texts, texts)

    found = run_checks([Check("a.leaks", "Leaks?", leak)], context_of(secrets))
    assert "secret" not in str(report(found))
    assert found[0].result == "**** **** ****"


def test_all_is_well_only_without_failures_and_warnings() -> None:
    def warn(_context: Context) -> Iterator[Finding]:
        yield Finding(CheckStatus.WARNING, "Tried.", "Not verified.")

    well = report(run_checks([Check("a.well", "Well?", _well)], context_of()))
    assert well["ok"] is True
    assert well["counts"] == {"ok": 1, "warning": 0, "failed": 0, "skipped": 0}
    assert report(run_checks([Check("a.warns", "Well?", warn)], context_of()))["ok"] is False
