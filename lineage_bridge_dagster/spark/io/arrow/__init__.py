"""Iceberg tables in and out as PyArrow, pandas or Polars frames, through PyIceberg: no JVM is needed."""
