"""The settings of a push."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lineage_bridge_dagster.config.value_types import MAX_CONCURRENCY, Owner


class PushSettings(BaseModel):
    """What a push writes, and its limits."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    set_parameters: bool = Field(
        True, description="Write the lineage_bridge.* parameters; true by default.", examples=[True]
    )
    set_description: bool = Field(
        True, description="Write the lineage block of the description; true by default.", examples=[True]
    )
    sql: Literal["full", "redacted", "hash", "none"] = Field(
        "redacted",
        description="How SQL appears in lineage: full, redacted, hash or none; redacted by default.",
        examples=["redacted"],
    )
    max_concurrency: int = Field(
        8, ge=1, le=MAX_CONCURRENCY, description="Tables pushed concurrently.", examples=[8]
    )
    max_attempts: int = Field(
        8, ge=1, le=50, description="Attempts per table before it counts as failed.", examples=[8]
    )
    owner: Owner = Field(
        "",
        description="Name of this installation in the tables that it pushes to: others leave them alone. "
        "Default: that of the Dagster instance in DAGSTER_HOME, else none.",
        examples=["lineage-prod"],
    )
    take_over: bool = Field(
        False,
        description="Push to tables whose lineage belongs to another installation as well, and become their "
        "owner; false by default.",
        examples=[False],
    )
    max_request_bytes: int = Field(
        512_000,
        ge=10_000,
        description="Largest request to Glue, in bytes. A longer chain is shortened to fit, and a table that "
        "leaves no room is refused.",
        examples=[512_000],
    )
    max_removal_share: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Largest share of tables, from 0 to 1, whose lineage one push may remove.",
        examples=[0.1],
    )
    business_context: bool = Field(
        False,
        description="Preview. After a push to Glue, also attach the lineage to the table's asset in Glue's "
        "business context, as a form, and to each of its columns; false by default.",
        examples=[False],
    )
