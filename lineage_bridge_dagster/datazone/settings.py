"""The settings of DataZone."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from lineage_bridge_dagster.config.value_types import MAX_CONCURRENCY


class DataZoneSettings(BaseModel):
    """The domain that lineage is posted to. Without one, none is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    domain: str = Field(
        "",
        pattern=r"^(dzd[-_][a-zA-Z0-9_-]{1,36})?$",
        description="The id of the Amazon DataZone or SageMaker Unified Studio domain to post lineage to.",
        examples=["dzd_4abc1defgh2ijk"],
    )
    project: str = Field(
        "",
        pattern=r"^[a-zA-Z0-9_-]{0,36}$",
        description="The id of the project that owns the assets of topics; only with topic_asset_type.",
        examples=["5prj1abcdefgh"],
    )
    topic_asset_type: str = Field(
        "",
        max_length=513,
        description="The asset type of the domain by which topics become assets of their own. By default, "
        "they are shown in the lineage of tables alone.",
        examples=["KafkaTopicAssetType"],
    )
    wait_seconds: int = Field(
        120,
        ge=0,
        le=3600,
        description="How long to wait for DataZone to process the events of a push, in seconds; the next "
        "push looks again at those that took longer.",
        examples=[120],
    )
    max_concurrency: int = Field(
        8, ge=1, le=MAX_CONCURRENCY, description="Calls to DataZone at once.", examples=[8]
    )
