"""All checks, in the order in which their findings are shown, and their run, all at the same time."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.operations.doctor import (
    aws_identity,
    aws_places,
    business_context,
    catalog_access,
    dagster_instance,
    glue_access,
    glue_refusals,
    glue_tables,
    machine,
    network,
    openlineage,
    s3_tables,
)
from lineage_bridge_dagster.operations.doctor.confluent_keys import key_checks
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Check, Finding, failed
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.text import did_you_mean, first_few

_log = logging.getLogger(__name__)

#: Receives how many checks are done, of how many, and the names of those still running.
Progress = Callable[[int, int, Sequence[str]], None]


def all_checks() -> list[Check]:
    """Every check; their names are unique."""
    return [
        Check("machine.env_file", "Which variables does the .env file set?", machine.env_file_read),
        Check("machine.secret_files", "Which variables do files of secrets set?", machine.secret_files_read),
        Check(
            "machine.variables", "Are all LINEAGE_BRIDGE variables well-formed and used?", machine.variables
        ),
        Check("machine.packages", "Are all required Python packages installed?", machine.packages),
        Check("machine.java", "Is there a Java version that Spark and Flink's parser support?", machine.java),
        Check("machine.jars", "Are the Java archives in the cache?", machine.archives),
        Check("machine.disk", "Is there enough free space?", machine.disk),
        Check("network.proxies", "Which proxies are set?", network.proxies),
        Check("network.endpoints", "Can the endpoints be reached?", network.endpoints),
        Check("network.spark", "Does the Spark master or server respond?", network.spark),
        *key_checks(),
        Check("aws.credentials", "Where do the AWS credentials come from?", aws_identity.credentials),
        Check("aws.identity", "Which AWS identity is in use?", aws_identity.identity),
        Check("aws.account", "Is the catalog in the right account?", aws_identity.account),
        Check("aws.region", "Is the configured region that of the tables?", aws_places.region),
        Check("aws.buckets", "Are the tables' buckets in the configured region?", aws_places.buckets),
        Check("glue.read", "May this identity read the Glue catalog?", glue_access.read),
        Check("glue.update", "May it write lineage to tables?", glue_access.update),
        Check(
            "glue.lake_formation", "Does Lake Formation block reads or pushes?", glue_refusals.lake_formation
        ),
        Check("glue.refused_writes", "Did Glue refuse writes in the last day?", glue_refusals.refused_writes),
        Check("glue.pushes", "What does a push write, and what does it keep?", glue_tables.pushes),
        Check(
            "glue.business_context",
            "Can forms be attached in Glue's business context?",
            business_context.available,
        ),
        Check("glue.missing_tables", "Does Glue have all of Tableflow's tables?", glue_tables.missing),
        Check("glue.optimizers", "Are table optimizers off for Tableflow's tables?", glue_tables.optimizers),
        Check("glue.athena_names", "Which names must Athena quote?", glue_tables.athena_names),
        Check(
            "catalogs.reach",
            "Does each catalog of Iceberg tables accept this identity?",
            catalog_access.reach,
        ),
        Check(
            "catalogs.writes",
            "Does each accept writes, or is it configured as read-only?",
            catalog_access.writes,
        ),
        Check("catalogs.s3tables", "Is the federation of S3 Tables set up?", s3_tables.federation),
        Check("datazone.domain", "Can lineage be posted to the DataZone domain?", openlineage.domain),
        Check("openlineage.receivers", "Can events of OpenLineage be sent?", openlineage.sending),
        Check("openlineage.sources", "Can events of other tools be read?", openlineage.readable),
        Check("dagster.home", "Does Dagster have a home?", dagster_instance.home),
        Check("dagster.daemon", "Is the daemon running?", dagster_instance.daemon),
        Check("dagster.sensor", "Is the lineage sensor on, and does it work?", dagster_instance.sensor),
        Check("dagster.state", "How old is the stored discovery?", dagster_instance.state),
    ]


def selected(checks: Iterable[Check], names: Iterable[str]) -> list[Check]:
    """The checks with these names or areas; all of them without names.

    Raises:
        ConfigurationError: there is no such check or area.
    """
    every = list(checks)
    wanted = set(names)
    known = {check.name for check in every} | {check.area for check in every}
    if unknown := sorted(wanted - known):
        raise ConfigurationError(
            f"There is no check {unknown[0]!r}.",
            hint=f"{did_you_mean(unknown[0], known)}`lineage-bridge doctor --list` shows all of them.",
        )
    return [check for check in every if not wanted or wanted & {check.name, check.area}]


def _silent(_done: int, _total: int, _running: Sequence[str]) -> None:
    return None


def run_checks(checks: Sequence[Check], context: Context, progress: Progress = _silent) -> list[Finding]:
    """Run all checks at the same time and return their findings in the checks' order.

    A check that exceeds its time limit is reported with what it has found so far. Its thread cannot be
    stopped, but ends with the process.
    """
    answers: queue.Queue[tuple[Check, Finding | None]] = queue.Queue()
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


def _run(check: Check, context: Context, answers: queue.Queue[tuple[Check, Finding | None]]) -> None:
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


def _unexpected(check: Check, error: Exception) -> Finding:
    text = first_few(str(error).strip().splitlines(), 1) or "no message"
    return failed(
        check.question,
        f"{type(error).__name__}: {redact_text(text)}",
        "The check itself failed: run it alone with LINEAGE_BRIDGE_LOG_LEVEL=DEBUG "
        f"(`lineage-bridge doctor --only {check.name}`).",
    )


def _too_late(check: Check) -> Finding:
    return failed(
        check.question,
        f"No answer within {check.time_limit:g} seconds.",
        "Check the network, proxies and firewalls between this machine and the service (see the check "
        f"network.endpoints), then run `lineage-bridge doctor --only {check.name}`.",
    )
