"""An error as an AWS service answers it."""

from __future__ import annotations


class AwsError(Exception):
    """Becomes an answer of that status; never seen by a user as a traceback.

    Args:
        code: the service's own name of the error, such as `ConcurrentModificationException`.
        message: its words.
        status: HTTP status.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
