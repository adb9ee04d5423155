"""Columns through connectors: source columns -> fields of topics -> columns of sinks.

`records` is a record as a tree whose leaves know what they are made of; `schema_tree` makes one of a
registered schema, `sources/` of what a source reads, `transforms/` change it, `sinks/` turn it into columns.
`lineage` puts them together for one connector.
"""
