"""Tests of the pages of assets."""
