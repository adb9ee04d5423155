"""Names of variables that are needed where no setting is read: without pydantic, a command starts sooner."""

from __future__ import annotations

PREFIX = "LINEAGE_BRIDGE_"
#: The level of the commands' log.
LOG_LEVEL = PREFIX + "LOG_LEVEL"
#: The names of secrets in AWS Secrets Manager that contain variables.
SECRETS = PREFIX + "SECRETS"
#: A folder with a file for each variable.
SECRETS_DIR = PREFIX + "SECRETS_DIR"
