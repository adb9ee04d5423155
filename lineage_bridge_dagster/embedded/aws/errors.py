"""An AWS service's error response."""

from __future__ import annotations


class AwsError(Exception):
    """Raised to send an error response, such as `ConcurrentModificationException`."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
