"""The families of connector classes: one module for each kind of outside system, with its sources and sinks.

To add a connector class, add its name to the `Family` that reads such configurations, or add a `Family` to
`SOURCES` or `SINKS` of the module of its system. Every module here is read.
"""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import iter_modules

from lineage_bridge_dagster.confluent.connectors.family import Family

_MODULES = tuple(import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
SOURCES: tuple[Family, ...] = tuple(row for module in _MODULES for row in getattr(module, "SOURCES", ()))
SINKS: tuple[Family, ...] = tuple(row for module in _MODULES for row in getattr(module, "SINKS", ()))


def _folded(name: str) -> str:
    """One spelling for `S3_SINK`, `S3Sink` and `s3-sink`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


_BY_ID = {_folded(name): family for family in (*SOURCES, *SINKS) for name in family.ids}
_BY_CLASS = {name: family for family in (*SOURCES, *SINKS) for name in family.classes}


def family_of(connector_class: str) -> Family | None:
    """The family of a short plugin id or a Java class; None for an unknown one.

    A managed connector's class is a short plugin id (`PostgresCdcSourceV2`, `S3_SINK`), a self-managed one's
    is a Java class. Several ids may share one Java class (JDBC, generic HTTP).
    """
    name = connector_class.strip()
    return _BY_CLASS.get(name) or (None if "." in name else _BY_ID.get(_folded(name)))
