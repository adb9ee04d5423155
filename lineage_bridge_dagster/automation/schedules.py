"""The schedules: what no cheap list tells, and what someone undid in Glue."""

from __future__ import annotations

from dagster import DefaultScheduleStatus, JobDefinition, ScheduleDefinition

from lineage_bridge_dagster.automation.names import Names


def schedules(
    names: Names,
    refresh: JobDefinition,
    push: JobDefinition | None,
    refresh_cron: str,
    push_cron: str,
    running: bool,
) -> list[ScheduleDefinition]:
    """A full refresh finds what the sensor's lists can't: connectors, statements, clusters. A push finds
    drift: a table whose lineage was wiped gets it again; one in sync is only read. An empty cron expression
    leaves the schedule out.
    """
    status = DefaultScheduleStatus.RUNNING if running else DefaultScheduleStatus.STOPPED
    found = []
    if refresh_cron:
        found.append(
            ScheduleDefinition(
                name=names.refresh_schedule,
                job=refresh,
                cron_schedule=refresh_cron,
                default_status=status,
                description="Discovers everything anew: connectors and statements too, which no tick asks.",
            )
        )
    if push is not None and push_cron:
        found.append(
            ScheduleDefinition(
                name=names.push_schedule,
                job=push,
                cron_schedule=push_cron,
                default_status=status,
                description="Puts back lineage that a catalog sync or a person removed; writes nothing else.",
            )
        )
    return found
