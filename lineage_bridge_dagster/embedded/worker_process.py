"""What a process that writes tables needs: the stack's variables, a lock, and a sign that it is alive."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from dotenv import dotenv_values

from lineage_bridge_dagster.errors import ConfigurationError

#: Longest delay after failures in a row, in seconds.
_MAX_BACKOFF = 60.0


class Backoff:
    """A delay that doubles with each failure in a row; without failures it is an interval in seconds."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._failures = 0
        self._until = float("-inf")

    @property
    def running(self) -> bool:
        """Whether the delay after the last failure is still running."""
        return time.monotonic() < self._until

    def failed(self) -> None:
        """Count a failure."""
        self._failures += 1
        self._until = time.monotonic() + min(_MAX_BACKOFF, self._interval * 2**self._failures)

    def succeeded(self) -> None:
        """Forget earlier failures."""
        self._failures = 0


class Heartbeat:
    """The ready file: created once Spark is up and rewritten after each table while the process is alive.

    `{"pid", "at" (ISO 8601 UTC), "tables", "synced"}`: how many topics are enabled, and how many of their
    tables were up to date at the last check. A file older than a few minutes means that the process hangs.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.clear()

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)

    def __call__(self, **state: int) -> None:
        text = json.dumps({"pid": os.getpid(), "at": datetime.now(UTC).isoformat(), **state})
        temporary = self._path.with_suffix(".part")
        temporary.write_text(text, "utf-8")
        temporary.replace(self._path)


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Hold a lock file, because two writers of one table would write its records twice.

    Raises:
        ConfigurationError: another process holds the lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigurationError(
                f"Another materializer is already running on {path.parent.parent}.",
                hint="`lineage-bridge local status` shows it; `lineage-bridge local down` stops it.",
            ) from error
        yield


def local_environment(home: Path) -> dict[str, str]:
    """Return the environment; the stack's variables override the shell's, which may name a real account.

    Raises:
        ConfigurationError: the endpoint of AWS, Confluent or Iceberg is not on this machine.
    """
    stack = {key: value for key, value in dotenv_values(home / "stack.env").items() if value}
    env = {**os.environ, **stack}
    for name in ("AWS_ENDPOINT_URL", "LINEAGE_BRIDGE_CONFLUENT_API_URL", "ICEBERG_REST_URI"):
        host = urlsplit(env.get(name, "")).hostname
        if host not in ("127.0.0.1", "localhost", "::1"):
            raise ConfigurationError(
                f"{name} is {env.get(name) or 'not set'}: the materializer writes only to the local stack.",
                hint=f"Start the stack with `lineage-bridge local up`; it writes {home / 'stack.env'}.",
            )
    env.setdefault("AWS_ACCESS_KEY_ID", "local")
    env.setdefault("AWS_SECRET_ACCESS_KEY", "local")
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1"
    # The Java SDK reads AWS_REGION, boto3 AWS_DEFAULT_REGION.
    return {**env, "AWS_REGION": region, "AWS_DEFAULT_REGION": region}
