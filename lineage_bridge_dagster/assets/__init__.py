"""Builders of the assets: topics, upstream chains and Glue tables to materialize, the rest external."""
