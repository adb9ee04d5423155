"""Tests of what stands on an asset's page."""
