"""The fixtures of the assets' tests serve here too."""

from lineage_bridge_dagster_tests.assets.conftest import glue, location, strict_aws

__all__ = ["glue", "location", "strict_aws"]
