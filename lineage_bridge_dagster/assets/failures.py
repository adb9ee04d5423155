"""Errors that a user can act on, as Dagster shows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dagster import Failure

from lineage_bridge_dagster.errors import LineageBridgeError


@contextmanager
def readable_failures() -> Iterator[None]:
    """Turn a domain error into a `Failure` that says what to do next.

    It is not retried by Dagster: single calls were retried where they were made, and a rerun of the op would
    do its good assets again too.
    """
    try:
        yield
    except LineageBridgeError as error:
        metadata = {"what to do": error.hint} if error.hint else {}
        raise Failure(description=str(error), metadata=metadata, allow_retries=False) from error
