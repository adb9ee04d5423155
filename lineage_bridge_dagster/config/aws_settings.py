"""Which AWS account and region are used, and with which keys."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.value_types import Region, RoleArn, Url
from lineage_bridge_dagster.config.variables import FromVariables


class AwsSettings(BaseModel):
    """Where the Glue Data Catalog is. boto3 looks up what is left empty, as in any AWS client."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    region: Annotated[
        Region | None, FromVariables((PREFIX + "AWS_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"))
    ] = Field(None, description="AWS region of the Glue catalog.", examples=["us-east-1"])
    profile: str | None = Field(
        None, description="Named profile of the AWS configuration.", examples=["data-platform"]
    )
    endpoint_url: Url | None = Field(
        None,
        description="Endpoint URL of Glue, such as that of a VPC endpoint.",
        examples=["https://vpce-0abc.glue.us-east-1.vpce.amazonaws.com"],
    )
    role_arn: RoleArn | None = Field(
        None, description="Role to assume for Glue.", examples=["arn:aws:iam::111122223333:role/lineage"]
    )
    catalog_id: str | None = Field(
        None,
        description="AWS account id of the catalog, in quotes; by default the caller's account.",
        examples=['"111122223333"'],
    )


class AwsKeys(NamedTuple):
    """Keys that were handed over rather than found by AWS's own credential chain."""

    access_key: str
    secret_key: str
    session_token: str | None = None

    def __repr__(self) -> str:
        return f"AwsKeys('...{self.access_key[-4:]}')"


def region_of_profile(profile: str | None) -> str | None:
    """The region that boto3 takes from a profile, by default that of `AWS_PROFILE`; None without a region."""
    # Imported here: most settings are read without it.
    import botocore.session
    from botocore.exceptions import BotoCoreError

    try:
        region = botocore.session.Session(profile=profile).get_config_variable("region")
    except BotoCoreError:
        # Whoever creates a client with the profile reports what is wrong with it.
        return None
    return str(region) if region else None
