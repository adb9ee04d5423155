"""Least-privilege IAM policies for a configuration: statements, purposes, trust policies, rendering."""
