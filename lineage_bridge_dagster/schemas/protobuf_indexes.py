"""Where the message of a Protobuf record is in its schema, by Confluent's wire format."""

from __future__ import annotations


def message_indexes(body: bytes) -> tuple[list[int], int]:
    """The indexes of a body's message, outermost first, and where the message begins.

    Confluent's page on its wire format: the number of indexes and each index as a zigzag varint; a single
    zero byte stands for the first message.
    """
    count, at = _varint(body, 0)
    if count == 0:
        return [0], at
    indexes = []
    if not 0 < count <= len(body):
        raise ValueError("it does not begin with the indexes of its message")
    for _ in range(count):
        index, at = _varint(body, at)
        indexes.append(index)
    return indexes, at


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64 and at < len(body):
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise ValueError("it ends within the indexes of its message")
