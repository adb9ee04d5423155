"""Tests of the Confluent emulator."""
