"""What AWS's own configuration files say of a profile."""

from __future__ import annotations


def region_of_profile(profile: str | None) -> str | None:
    """Return the region that boto3 takes from a profile; None if the profile does not exist or has no region.

    Args:
        profile: its name; by default that of `AWS_PROFILE`, or `default`.
    """
    # Imported here: most settings are read without it.
    import botocore.session
    from botocore.exceptions import BotoCoreError

    try:
        region = botocore.session.Session(profile=profile).get_config_variable("region")
    except BotoCoreError:
        # Whoever creates a client with the profile reports what is wrong with it.
        return None
    return str(region) if region else None
