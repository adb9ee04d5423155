"""The families of connector classes: one module for each kind of outside system, with its sources and sinks.

To add a connector class, add its name to the family that reads such configurations, or declare a family in
the module of its system: in a row of `declare` if keys tell all, else with `source_family` or `sink_family`.
Every module here is read.
"""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import iter_modules

from lineage_bridge_dagster.confluent.connectors.family import SINKS, SOURCES, Family

__all__ = ["SINKS", "SOURCES", "family_of"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


def _folded(name: str) -> str:
    """A Java class as it is; one spelling for the plugin ids `S3_SINK`, `S3Sink` and `s3-sink`."""
    return name if "." in name else re.sub(r"[^a-z0-9]", "", name.lower())


_BY_CLASS = {_folded(name): family for family in (*SOURCES, *SINKS) for name in family.classes}


def family_of(connector_class: str) -> Family | None:
    """The family of a short plugin id or a Java class; None for an unknown one.

    A managed connector's class is a short plugin id (`PostgresCdcSourceV2`, `S3_SINK`), a self-managed one's
    is a Java class. Several ids may share one Java class (JDBC, generic HTTP).
    """
    return _BY_CLASS.get(_folded(connector_class.strip()))
