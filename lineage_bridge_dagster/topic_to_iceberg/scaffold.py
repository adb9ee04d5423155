"""The YAML that `dg scaffold defs` writes for a component that loads topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dagster import ScaffoldRequest

from lineage_bridge_dagster.config.scaffold import InstanceScaffolder
from lineage_bridge_dagster.config.yaml_section import YamlSection

_TEXT = """\
# Loads topics of one Kafka cluster into Iceberg tables. Keys and secrets have no field: they come from
# LINEAGE_BRIDGE_KAFKA_API_KEY and LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY with their _SECRET (for one of
# several clusters with its id, as in ..._LKC_ABC123), or from AWS Secrets Manager.
type: {type}

attributes:
  # The cluster, in Confluent Cloud by its id or name; for a self-managed one, a name of your own.
  kafka:
    cluster: lkc-abc123
    # environment: env-abc123
    # bootstrap_servers: SASL_SSL://broker.example.com:9092
    # schema_registry_url: https://registry.example.com

  # Topics by name or by pattern; the first pattern that fits wins, and a topic's own entry before it.
  topics:
    - topic: orders
    # - topic: customers
    #   mode: upsert
    #   table: customers_now
    #   partition_by: ["bucket(16, id)"]
    # - topic: sales.*
    #   database: sales
    #   failures: log
    #   dead_letter_topic: sales.errors

  # What an entry leaves out.
  defaults:
    # append: a row per record; upsert: a row per key; debezium: upsert from Debezium's envelopes.
    mode: append
    # A record that cannot become a row: suspend the topic, skip the record, or log it to dead_letter_topic.
    failures: suspend
    # start: earliest
    # raw_columns: true
    # batch_records: 1000000
    # batch_bytes: 1073741824
    # max_lag_seconds: 3600
    # An asset that loads days or hours of a table again, from the first day on that the topic still has.
    # backfill: {{start: 2026-01-01, partition: day}}

  # When topics are loaded: schedule, continuous (one long run that a sensor keeps going) or manual.
  run:
    mode: schedule
    cron: "*/15 * * * *"
    running: false

  # When all tables are compacted, and what is kept of them.
  upkeep:
    cron: "30 2 * * *"
    running: false
    # keep_snapshots: 100
    # orphan_days: 3

  # The Spark session and the default catalog of the tables; empty fields come from
  # LINEAGE_BRIDGE_CATALOG_* and LINEAGE_BRIDGE_AWS_*.
  spark:
    catalog:
      warehouse: "{{{{ env.LINEAGE_BRIDGE_CATALOG_WAREHOUSE }}}}"
"""


class LoadScaffolder(InstanceScaffolder):
    """Writes an example with comments."""

    def text(self, component: type[YamlSection], request: ScaffoldRequest[Any], path: Path) -> str:  # noqa: ARG002
        return example(request.type_name)


def example(type_name: str) -> str:
    """The YAML of an instance of a component of this type."""
    return _TEXT.format(type=type_name)
