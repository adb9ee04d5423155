"""The settings of what is sent to receivers of OpenLineage."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class OpenLineageSettings(BaseModel):
    """Whether events are sent. Where to, OpenLineage's own configuration tells: see `receivers`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    send: bool = Field(
        False,
        description="Send what changed as events of OpenLineage after each discovery and push, to the "
        "receivers that OPENLINEAGE_URL, OPENLINEAGE_CONFIG or the OPENLINEAGE__TRANSPORT variables name; "
        "false by default.",
        examples=[True],
    )
