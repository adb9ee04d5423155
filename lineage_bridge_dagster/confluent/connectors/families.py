"""Looks up the family of a connector class.

A managed connector's class is a short plugin id (`PostgresCdcSourceV2`, `S3_SINK`), a self-managed one's is a
Java class. Several ids may share one Java class (JDBC, generic HTTP).
"""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors.family import Family
from lineage_bridge_dagster.confluent.connectors.sink_families import SINKS
from lineage_bridge_dagster.confluent.connectors.source_families import SOURCES


def _folded(name: str) -> str:
    """One spelling for `S3_SINK`, `S3Sink` and `s3-sink`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


_BY_ID = {_folded(name): family for family in (*SOURCES, *SINKS) for name in family.ids}
_BY_CLASS = {name: family for family in (*SOURCES, *SINKS) for name in family.classes}


def family_of(connector_class: str) -> Family | None:
    """The family of a short plugin id or a Java class; None for an unknown one."""
    name = connector_class.strip()
    return _BY_CLASS.get(name) or (None if "." in name else _BY_ID.get(_folded(name)))
