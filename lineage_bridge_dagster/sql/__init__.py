"""Flink SQL: what a statement reads and writes, and which topics those names are."""
