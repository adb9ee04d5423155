"""The least IAM policies for what is configured: statements, purposes, trust policies and their rendering."""
