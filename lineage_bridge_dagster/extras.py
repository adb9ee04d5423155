"""The extras of this distribution, and the error where one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from lineage_bridge_dagster.errors import ConfigurationError

Extra = Literal["azure", "collector", "connect", "local", "metrics", "openlineage", "polars", "topics"]


def install(extra: Extra) -> str:
    """The command that installs an extra."""
    return f"pip install 'lineage-bridge-dagster[{extra}]'"


@contextmanager
def needs(extra: Extra, what: str) -> Iterator[None]:
    """Import within the block what an extra installs.

    Args:
        extra: The extra.
        what: What needs it, as the subject of a sentence: "The embedded stack".

    Raises:
        ConfigurationError: A package is missing; the error names it and the extra.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package == __name__.partition(".")[0]:
            raise  # A module of ours that does not exist is a bug.
        missing = f"the package {package}" if package else f"a package: {str(error).rstrip('.')}"
        raise ConfigurationError(f"{what} needs {missing}.", hint=install(extra)) from error
