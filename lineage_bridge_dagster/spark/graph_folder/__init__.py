"""A graph as a folder of Parquet files, whose lineage is stored without making objects of its nodes."""
