"""The lineage graph: pure Python, with no Dagster, Spark, boto3 or HTTP."""
