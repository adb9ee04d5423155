"""Tests of dead letters and their replay."""
