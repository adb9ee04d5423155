"""Landing places: where the files of an extract are taken, each visible under its name only when whole."""

from lineage_bridge_dagster.collector.landing.landed import Landed
from lineage_bridge_dagster.collector.landing.place import Landing, landing_of, upload

__all__ = ["Landed", "Landing", "landing_of", "upload"]
