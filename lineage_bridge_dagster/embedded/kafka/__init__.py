"""Kafka broker clients of the emulator: the protocol, and the client of a real one."""
