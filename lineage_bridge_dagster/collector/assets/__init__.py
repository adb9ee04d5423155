"""The collector as Dagster assets: an extract a day, its approval and its upload."""
