"""Clients of Kafka brokers for the emulator: an interface, its in-memory form, and a real one."""
