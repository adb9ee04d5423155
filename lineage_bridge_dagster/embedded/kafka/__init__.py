"""Kafka broker clients of the emulator: the protocol, an in-memory broker and a client of a real one."""
