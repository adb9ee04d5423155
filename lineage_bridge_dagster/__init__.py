"""Upstream lineage of Confluent Tableflow tables, as Dagster assets, in AWS Glue."""
