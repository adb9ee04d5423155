"""Lineage in tables of catalogs that Glue's `UpdateTable` does not reach."""
