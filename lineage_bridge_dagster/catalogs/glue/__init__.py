"""AWS Glue: reads its tables, and pushes lineage to them without losing a commit."""
