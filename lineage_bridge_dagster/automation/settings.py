"""The section of the YAML about what runs automatically."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator

from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.variables import FromVariables
from lineage_bridge_dagster.config.yaml_fields import CRON
from lineage_bridge_dagster.config.yaml_schema import Accepts
from lineage_bridge_dagster.config.yaml_section import YamlSection


class SensorConfig(YamlSection):
    """What runs automatically, and when."""

    running: Annotated[bool, FromVariables((PREFIX + "SENSORS",))] = Field(
        default=False,
        description="Start the sensor and the schedules without a click in the UI.",
        examples=[True],
    )
    interval_seconds: Annotated[int, Accepts(Annotated[int, Field(gt=0)])] = Field(
        default=10, description="Minimum time between ticks, in seconds.", examples=[10]
    )
    budget_seconds: Annotated[float, Accepts(Annotated[float, Field(gt=0, lt=60)])] = Field(
        default=20.0,
        description="Time budget of a tick, in seconds, under 60; the next tick continues where it ended.",
        examples=[20],
    )
    sweep_minutes: Annotated[float, Accepts(Annotated[float, Field(ge=0)])] = Field(
        default=5.0,
        description="Minutes between the starts of two sweeps, which compare whole tables with what was "
        "pushed; 0: none.",
        examples=[5],
    )
    sweep_repair: bool = Field(
        default=True,
        description="Push lineage again that a sweep finds lost; otherwise it is only reported.",
        examples=[True],
    )
    refresh_cron: Annotated[str, CRON, FromVariables((PREFIX + "REFRESH_CRON",))] = Field(
        default="*/15 * * * *",
        description="Schedule of full discoveries, as a cron expression; empty: none.",
        examples=["*/15 * * * *"],
    )
    push_cron: Annotated[str, CRON, FromVariables((PREFIX + "PUSH_CRON",))] = Field(
        default="7 * * * *",
        description="Schedule of pushes that restore lost lineage, as a cron expression; empty: none.",
        examples=["7 * * * *"],
    )
    nightly_cron: Annotated[str, CRON, FromVariables((PREFIX + "NIGHTLY_CRON",))] = Field(
        default="13 2 * * *",
        description="Schedule of full runs (all topics, chains, pushes and checks), as a cron expression; "
        "empty: none.",
        examples=["13 2 * * *"],
    )
    upkeep_cron: Annotated[str, CRON, FromVariables((PREFIX + "UPKEEP_CRON",))] = Field(
        default="43 3 * * *",
        description="Schedule of the upkeep of the lineage tables, as a cron expression; empty: none.",
        examples=["43 3 * * *"],
    )
    run_days: Annotated[
        float, Accepts(Annotated[float, Field(ge=0)]), FromVariables((PREFIX + "RUN_DAYS",))
    ] = Field(
        default=0.0,
        description="Days for which finished runs are kept; upkeep deletes older ones, except for those that "
        "an asset, a check, a job or a schedule shows last. 0: all are kept.",
        examples=[30],
    )
    all_runs: Annotated[bool, FromVariables((PREFIX + "ALL_RUNS",))] = Field(
        default=False,
        description="Delete the old runs of every job of the Dagster instance, not only of the component's.",
        examples=[True],
    )

    @field_validator("running", "all_runs", mode="before")
    @classmethod
    def _empty_is_off(cls, value: Any) -> Any:
        return False if value in (None, "") else value

    @field_validator("interval_seconds", "budget_seconds")
    @classmethod
    def _above_zero(cls, value: float) -> float:
        # No bounds on the field itself: the YAML's schema would apply them to a template's text.
        if value <= 0:
            raise ValueError("must be above zero")
        return value

    @field_validator("run_days")
    @classmethod
    def _not_below_zero(cls, value: float) -> float:
        if value < 0:
            raise ValueError("must not be below zero")
        return value
