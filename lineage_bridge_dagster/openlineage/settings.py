"""The settings of events of OpenLineage."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from lineage_bridge_dagster.config.value_types import NameList


class OpenLineageSettings(BaseModel):
    """Whether our events are sent, and which events of others are read.

    Where ours are sent to, OpenLineage's own configuration tells: see `receivers`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    send: bool = Field(
        False,
        description="Send what changed as events of OpenLineage after each discovery and push, to the "
        "receivers that OPENLINEAGE_URL, OPENLINEAGE_CONFIG or the OPENLINEAGE__TRANSPORT variables name; "
        "false by default.",
        examples=[True],
    )
    paths: NameList = Field(
        default_factory=list,
        description="Where discoveries read events of OpenLineage that others send: files, folders, patterns "
        "and s3:// prefixes, a list or comma-separated.",
        examples=["/var/lib/openlineage, s3://bucket/events"],
    )
    topics: NameList = Field(
        default_factory=list,
        description="Kafka topics with such events, a list or comma-separated.",
        examples=["openlineage.events"],
    )
    cluster: str = Field(
        "",
        description="Id or name of the Confluent cluster that has these topics. With bootstrap_servers, the "
        "name that the variables with its key have.",
        examples=["lkc-abc123"],
    )
    bootstrap_servers: str = Field(
        "",
        description="Brokers of a self-managed cluster that has these topics, as [PROTOCOL://]host:port, "
        "separated by commas.",
        examples=["SASL_SSL://broker.example.com:9092"],
    )
    max_age_days: float = Field(
        30.0,
        gt=0,
        description="Days after which lineage that no run has confirmed is gone.",
        examples=[30],
    )
