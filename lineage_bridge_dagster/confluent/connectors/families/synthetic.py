"""Generated data."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors.families.common import no_dataset, single_topic
from lineage_bridge_dagster.confluent.connectors.family import Family

SOURCES = (
    Family(
        "datagen",
        ("DatagenSource",),
        ("io.confluent.kafka.connect.datagen.DatagenConnector",),
        single_topic(no_dataset),
    ),
)
