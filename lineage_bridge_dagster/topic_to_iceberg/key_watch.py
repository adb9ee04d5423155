"""Whether keys were rotated since a run began: one that goes on for days ends before the old ones do."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.errors import LineageBridgeError

#: Seconds between two looks.
_SECONDS = 60.0

_log = logging.getLogger(__name__)


class KeyWatch:
    """Tells whether keys of Confluent are other ones than when it was made; it looks once a minute.

    Args:
        read: reads the settings as their sources have them.
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self, read: Callable[[], ConfluentSettings], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read, self._clock = read, clock
        self._first = self._keys()
        self._due = clock() + _SECONDS

    def __call__(self) -> bool:
        if self._clock() < self._due:
            return False
        self._due = self._clock() + _SECONDS
        found = self._keys()
        # What cannot be read just now was not rotated.
        return None not in (found, self._first) and found != self._first

    def _keys(self) -> dict[str, tuple[str, str]] | None:
        try:
            credentials: dict[str, Credential] = dict(self._read().credentials)
        except LineageBridgeError as error:
            _log.warning("The keys could not be read again: %s", error)
            return None
        return {slot: (each.key, each.secret.get_secret_value()) for slot, each in credentials.items()}
