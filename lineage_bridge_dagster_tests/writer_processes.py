"""Iceberg writers of one table in processes of their own.

They are forked from one process that has imported this module and has no threads: importing PyIceberg in each
would take longer than their commits.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException

Name = tuple[str, str]


def processes(count: int) -> ProcessPoolExecutor:
    """A pool of this many processes. They do not have the environment of the test."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return ProcessPoolExecutor(count, mp_context=context)


def append(properties: Mapping[str, str], name: Name, values: Sequence[int]) -> int:
    """Append rows one by one until each is acknowledged; return the conflicts met.

    Args:
        properties: PyIceberg's, of the catalog.
    """
    return _append_each(load_catalog("writer", **properties), name, values)


def set_properties(properties: Mapping[str, str], name: Name, keys: Sequence[str]) -> int:
    """Set properties, each to its key, one by one until each is acknowledged; return the conflicts met."""
    catalog = load_catalog("writer", **properties)
    return sum(_until_acknowledged(partial(_set, catalog, name, key)) for key in keys)


def _append_each(catalog: Catalog, name: Name, values: Sequence[int]) -> int:
    return sum(_until_acknowledged(partial(_append, catalog, name, value)) for value in values)


def _append(catalog: Catalog, name: Name, value: int) -> None:
    catalog.load_table(name).append(pa.table({"id": pa.array([value], pa.int64())}))


def _set(catalog: Catalog, name: Name, key: str) -> None:
    with catalog.load_table(name).transaction() as transaction:
        transaction.set_properties({key: key})


def _until_acknowledged(commit: Callable[[], None]) -> int:
    conflicts = 0
    while True:
        try:
            commit()
        except CommitFailedException:
            conflicts += 1
        else:
            return conflicts
