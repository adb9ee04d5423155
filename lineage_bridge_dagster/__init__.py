"""Upstream lineage of Confluent Tableflow tables, as Dagster assets and in AWS Glue."""

from importlib.metadata import version

__version__ = version("lineage-bridge-dagster")
