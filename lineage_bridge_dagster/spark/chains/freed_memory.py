"""Freed memory, given back to the system."""

from __future__ import annotations

import ctypes
import sys

import pyarrow as pa


def release_freed() -> None:
    """Give back what Arrow and glibc keep of freed memory: after a large graph's rows, hundreds of MB."""
    pa.default_memory_pool().release_unused()
    # Other C libraries do not have it.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
