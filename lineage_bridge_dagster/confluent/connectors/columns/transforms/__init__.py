"""What transforms do to the fields of records: one module for each of their makers.

A transform is a function from record to record, declared for its classes with `transform` or
`side_transform`.
"""

from lineage_bridge_dagster.confluent.connectors.columns.transforms import kafka as kafka
from lineage_bridge_dagster.confluent.connectors.columns.transforms.chain import transformed

__all__ = ["transformed"]
