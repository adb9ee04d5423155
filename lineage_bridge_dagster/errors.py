"""Errors that a user can act on.

The message states what failed and where. The hint names what to do next: the environment variable, the IAM
action or the command. Any other exception that reaches a user is a bug.
"""

from __future__ import annotations


class LineageBridgeError(Exception):
    """Base of all errors that are shown without a traceback."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  -> {self.hint}" if self.hint else self.message

    @property
    def reason(self) -> str:
        """Message and hint on one line, for coverage reports."""
        stop = "" if not self.hint or self.message.endswith((".", "!", "?")) else "."
        return f"{self.message}{stop} {self.hint}".strip()


class ConfigurationError(LineageBridgeError):
    """Wrong usage or configuration, found before any external system was changed."""

    exit_code = 2


def is_interruption(error: BaseException) -> bool:
    """Whether an error ends on purpose what runs: Ctrl-C, or a signal that Dagster turned into one.

    Any other, such as the `SystemExit` or the panic of a library, is the failure of one call.
    """
    stops = isinstance(error, KeyboardInterrupt | GeneratorExit)
    return stops or (
        not isinstance(error, Exception) and type(error).__module__.partition(".")[0] == "dagster"
    )
