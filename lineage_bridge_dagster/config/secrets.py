"""Variables stored in AWS Secrets Manager."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.secret_logs import hide_secrets_in_logs
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.json_text import json_of

#: Seconds for which variables are cached, so that a sensor tick every few seconds is cheap.
_CACHE_SECONDS = 300.0

#: Reads secrets' variables: their names, then the AWS region and profile.
ReadSecrets = Callable[[Sequence[str], str | None, str | None], Mapping[str, str]]


class CachedSecrets:
    """Reads the same secrets at most once in five minutes; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._request: tuple[tuple[str, ...], str | None, str | None] | None = None
        self._variables: Mapping[str, str] = {}
        self._expires = 0.0

    def __call__(self, names: Sequence[str], region: str | None, profile: str | None) -> Mapping[str, str]:
        request = (tuple(names), region, profile)
        with self._lock:
            if request != self._request or time.monotonic() >= self._expires:
                self._variables = read_secrets(names, region, profile)
                self._request = request
                self._expires = time.monotonic() + _CACHE_SECONDS
            return self._variables

    def forget(self) -> None:
        """Read them again at the next call."""
        with self._lock:
            self._expires = 0.0


def read_secrets(names: Sequence[str], region: str | None, profile: str | None) -> dict[str, str]:
    """The variables in AWS Secrets Manager secrets.

    A secret contains a JSON object of variables (`{"LINEAGE_BRIDGE_KAFKA_API_KEY": ...}`), or is named after
    a variable and contains its value.

    Raises:
        ConfigurationError: a secret does not exist, cannot be read, or contains neither.
    """
    from dagster_aws.secretsmanager import SecretsManagerResource

    hide_secrets_in_logs()
    try:
        client = SecretsManagerResource(region_name=region, profile_name=profile).get_client()
    except Exception as error:
        raise ConfigurationError(
            f"AWS Secrets Manager could not be queried for {', '.join(map(repr, names))}: {error}",
            hint="Set LINEAGE_BRIDGE_AWS_REGION, and LINEAGE_BRIDGE_AWS_PROFILE to a profile that exists.",
        ) from error
    found: dict[str, str] = {}
    for name in names:
        try:
            text = client.get_secret_value(SecretId=name).get("SecretString", "")
        except Exception as error:
            # The error's text names the secret and the call, never the value.
            raise ConfigurationError(
                f"The secret {name!r} could not be read from AWS Secrets Manager: {error}",
                hint="Check its name and region, and grant secretsmanager:GetSecretValue on it.",
            ) from error
        if (content := json_of(text, dict)) is not None:
            # Only this project's variables: a shared secret must not set AWS_PROFILE or the like here.
            found.update({key: str(value) for key, value in content.items() if key.startswith(PREFIX)})
        elif name.startswith(PREFIX):
            found[name] = text
        else:
            raise ConfigurationError(
                f"The secret {name!r} is not a JSON object of variables.",
                hint='Store {"LINEAGE_BRIDGE_KAFKA_API_KEY": "...", ...}, or name it after its variable.',
            )
    return found
