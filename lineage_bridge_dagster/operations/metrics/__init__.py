"""The metrics of an installation, computed from what its processes store in Dagster's instance."""
