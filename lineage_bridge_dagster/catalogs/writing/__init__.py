"""The push of lineage to tables, whatever kind of catalog has them."""
