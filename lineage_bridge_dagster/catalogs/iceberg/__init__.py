"""Iceberg tables without a JVM: their names in Spark SQL, their last commits, and their catalogs."""
