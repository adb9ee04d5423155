"""Names of variables that are needed where no setting is read: without pydantic, a command starts sooner."""

from __future__ import annotations

PREFIX = "LINEAGE_BRIDGE_"
#: The level of the commands' log.
LOG_LEVEL = PREFIX + "LOG_LEVEL"
#: `json`: each line of a process's log is an object of JSON.
LOG_FORMAT = PREFIX + "LOG_FORMAT"
#: The names of secrets in AWS Secrets Manager that contain variables.
SECRETS = PREFIX + "SECRETS"
