"""Errors that a user can act on.

The message says what failed and where; `hint` says what to do next: the environment variable, the IAM
action or the command, by name. Anything else that escapes is a bug.
"""

from __future__ import annotations


class LineageBridgeError(Exception):
    """Base of every error that is shown to a user without a traceback."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  -> {self.hint}" if self.hint else self.message


class ConfigurationError(LineageBridgeError):
    """Wrong usage or configuration: found before anything outside was changed."""

    exit_code = 2
