"""How often a push tries one table, and how long it waits in between."""

from __future__ import annotations

from collections.abc import Callable

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

#: Seconds between two attempts at one table: random, below a bound that doubles.
_WAIT = wait_random_exponential(multiplier=0.1, max=5)


def push_attempts(
    max_attempts: int, worth_retrying: Callable[[BaseException], bool], sleep: Callable[[float], None]
) -> Retrying:
    """Calls the attempt until it succeeds; the last error is raised.

    Args:
        max_attempts: How often it is called at most.
        worth_retrying: Whether another attempt may succeed after this error.
        sleep: Waits, in seconds.
    """
    return Retrying(
        stop=stop_after_attempt(max_attempts),
        wait=_WAIT,
        retry=retry_if_exception(worth_retrying),
        sleep=sleep,
        reraise=True,
    )
