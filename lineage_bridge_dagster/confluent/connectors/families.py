"""The table of connector families: which classes belong to each, and how each is read.

A managed connector says a short plugin id (`PostgresCdcSourceV2`, `S3_SINK`), a self-managed one a Java
class. One Java class may serve several ids (JDBC, generic HTTP).
"""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors.family import Family
from lineage_bridge_dagster.confluent.connectors.sink_families import SINKS
from lineage_bridge_dagster.confluent.connectors.source_families import SOURCES


def _folded(name: str) -> str:
    """`S3_SINK`, `S3Sink` and `s3-sink` are one id."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


_BY_ID = {_folded(name): family for family in (*SOURCES, *SINKS) for name in family.ids}
_BY_CLASS = {name: family for family in (*SOURCES, *SINKS) for name in family.classes}


def family_of(connector_class: str) -> Family | None:
    """The family of a short plugin id or a Java class; None for an unknown one."""
    name = connector_class.strip()
    return _BY_CLASS.get(name) or (None if "." in name else _BY_ID.get(_folded(name)))
