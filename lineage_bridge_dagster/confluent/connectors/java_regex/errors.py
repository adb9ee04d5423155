"""The errors of this package."""

from __future__ import annotations


class BadRegexError(ValueError):
    """An expression that is invalid, that we cannot run as Java does, or that runs for too long."""


class SlowRegexError(BadRegexError):
    """An expression that runs for too long on a name."""
