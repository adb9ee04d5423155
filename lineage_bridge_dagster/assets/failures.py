"""Domain errors as failures of a step that tell the user what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dagster import Failure

from lineage_bridge_dagster.errors import LineageBridgeError


@contextmanager
def readable_failures() -> Iterator[None]:
    """Turn a domain error into a `Failure` with its hint.

    Dagster does not retry it: single calls were retried already, and a second run of the op would process
    its successful assets again.
    """
    try:
        yield
    except LineageBridgeError as error:
        metadata = {"what to do": error.hint} if error.hint else {}
        raise Failure(description=str(error), metadata=metadata, allow_retries=False) from error
