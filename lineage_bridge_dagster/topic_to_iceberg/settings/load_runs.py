"""When an instance loads its topics, and when it compacts their tables."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from lineage_bridge_dagster.config.yaml_fields import CRON
from lineage_bridge_dagster.config.yaml_schema import Accepts
from lineage_bridge_dagster.config.yaml_section import YamlSection


class RunConfig(YamlSection):
    """When topics are loaded, and how many at once."""

    mode: Annotated[str, Accepts(Literal["schedule", "continuous", "manual"])] = Field(
        default="schedule",
        description="schedule: a run reads to the ends that the topics have when it starts; continuous: one "
        "long run, which a sensor starts again when it ended or died; manual: only when somebody "
        "materializes the assets.",
        examples=["continuous"],
    )
    cron: Annotated[str, CRON] = Field(
        default="*/15 * * * *",
        description="Schedule of the runs of mode schedule, as a cron expression.",
        examples=["*/15 * * * *"],
    )
    running: bool = Field(
        default=False,
        description="Start the schedule or the sensor without a click in the UI.",
        examples=[True],
    )
    threads: Annotated[int, Accepts(Annotated[int, Field(ge=1, le=64)])] = Field(
        default=4, description="Topics that are loaded at the same time.", examples=[4]
    )
    commit_seconds: Annotated[float, Accepts(Annotated[float, Field(gt=0)])] = Field(
        default=60.0,
        description="Seconds between two commits to a table that has caught up, in mode continuous.",
        examples=[60],
    )
    report_minutes: Annotated[float, Accepts(Annotated[float, Field(gt=0)])] = Field(
        default=10.0,
        description="Minutes between two materializations of a table in a run of mode continuous.",
        examples=[10],
    )
    restart_hours: Annotated[float, Accepts(Annotated[float, Field(gt=0)])] = Field(
        default=24.0,
        description="Hours after which a run of mode continuous ends, and the sensor starts the next one.",
        examples=[24],
    )


class UpkeepConfig(YamlSection):
    """What keeps the tables small: compaction, and the end of old snapshots and of files without one."""

    cron: Annotated[str, CRON] = Field(
        default="30 2 * * *",
        description="Schedule of the upkeep of all tables, as a cron expression; empty: none.",
        examples=["30 2 * * *"],
    )
    running: bool = Field(
        default=False, description="Start the schedule without a click in the UI.", examples=[True]
    )
    keep_snapshots: Annotated[int, Accepts(Annotated[int, Field(ge=1)])] = Field(
        default=100, description="Snapshots to keep of each table, as Tableflow does.", examples=[100]
    )
    keep_hours: Annotated[float, Accepts(Annotated[float, Field(ge=0)])] = Field(
        default=0.0,
        description="Hours for which every snapshot is kept, however many there are.",
        examples=[24],
    )
    orphan_days: Annotated[float, Accepts(Annotated[float, Field(ge=0)])] = Field(
        default=3.0,
        description="Days after which a file that no snapshot has is removed, at least 1; 0: never.",
        examples=[3],
    )
