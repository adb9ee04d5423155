"""Lineage as forms on a table's asset in the business context of the Glue Data Catalog (preview)."""
