"""Topics as Iceberg tables: registered schemas -> columns, and how a table's columns follow a schema."""
