"""Inventory extracts: what is in Glue, and where it comes from, as files for a governance tool.

An extract reads every database and table of some regions, writes the rows of what changed since the last
high-water mark, and the identifiers of everything, so that the receiver sees what was dropped.
"""

from lineage_bridge_dagster.collector.extractor import Extract, Extractor
from lineage_bridge_dagster.collector.mark_homes import get_hwm, publish_hwm
from lineage_bridge_dagster.collector.settings import CollectorSettings, load_config

__all__ = ["CollectorSettings", "Extract", "Extractor", "get_hwm", "load_config", "publish_hwm"]
