"""The variables of a collector: from the environment, else from `.env`, else from AWS Secrets Manager.

A secret is named and written as for the rest of the project (`config.secrets`): a JSON object of variables
such as `{"LINEAGE_BRIDGE_COLLECTOR_SECRET": ...}`, or named after its variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from lineage_bridge_dagster.config.env_file import env_variables
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.secrets import ReadSecrets, read_secrets

VARIABLES = f"{PREFIX}COLLECTOR_"
SECRETS = f"{VARIABLES}SECRETS"
MASK_KEY = f"{VARIABLES}MASK_KEY"
LANDING_KEY = f"{VARIABLES}LANDING_KEY"
LANDING_SECRET = f"{VARIABLES}LANDING_SECRET"
LANDING_SAS = f"{VARIABLES}LANDING_SAS"
#: What no file may hold, as it would be written there, and the variable to set in its place.
NOT_IN_A_FILE = {
    "mask_key": MASK_KEY,
    "landing.key": LANDING_KEY,
    "landing.secret": LANDING_SECRET,
    "landing.sas": LANDING_SAS,
}

#: The variables that may name the region of a secret whose ARN does not.
_REGIONS = (f"{PREFIX}AWS_REGION", "AWS_REGION", "AWS_DEFAULT_REGION")
_SECRET_ARN = re.compile(r"arn:[^:]+:secretsmanager:(?P<region>[^:]+):")


def local_variables() -> dict[str, str]:
    """The variables of the environment, else of `.env`; none that is empty."""
    found = {**env_variables(), **os.environ}
    return {name: value for name, value in found.items() if value}


def stored_variables(
    names: Sequence[str],
    variables: Mapping[str, str],
    regions: Sequence[str] = (),
    read: ReadSecrets = read_secrets,
) -> dict[str, str]:
    """The variables of a collector in secrets, read with AWS's own credential chain.

    Args:
        names: names or ARNs of the secrets.
        variables: those that are known already.
        regions: that the collector reads; a secret is in the first of them if nothing else says where.
        read: reads secrets of one region.

    Raises:
        ConfigurationError: as for `read_secrets`.
    """
    known = next(filter(None, (variables.get(name) for name in _REGIONS)), next(iter(regions), None))
    found: dict[str, str] = {}
    for name in names:
        arn = _SECRET_ARN.match(name)
        found.update(read([name], arn["region"] if arn else known, None))
    return {name: value for name, value in found.items() if name.startswith(VARIABLES)}
