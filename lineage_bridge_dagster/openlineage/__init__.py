"""A discovery as events of the OpenLineage specification. Pure."""
