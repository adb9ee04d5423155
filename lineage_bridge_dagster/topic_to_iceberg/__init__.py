"""Loads topics into Iceberg tables: a component, its assets, checks, schedules and runs."""
