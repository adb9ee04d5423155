"""The errors of this package."""

from __future__ import annotations


class BadRegexError(ValueError):
    """An expression that is invalid, that runs for too long, or that nobody could evaluate."""


class SlowRegexError(BadRegexError):
    """An expression that runs for too long on a name."""
