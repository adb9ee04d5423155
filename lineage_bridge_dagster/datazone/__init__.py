"""Lineage in Amazon DataZone, which is the catalog of SageMaker Unified Studio too."""
