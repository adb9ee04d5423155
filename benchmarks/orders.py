"""Topics of random orders on a broker of their own: Avro or JSON in Confluent's wire format."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lineage_bridge_dagster.embedded.broker import BrokerProcess
from lineage_bridge_dagster.embedded.ports import is_free
from lineage_bridge_dagster.errors import LineageBridgeError

Format = Literal["avro", "json"]
#: What the values have besides: nothing, two unions, or a fraction of zeros behind each integer (JSON alone).
Values = Literal["plain", "unions", "points"]

KEY_ID, VALUE_ID = 1, 2


def _avro_record(name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": "shop", "fields": fields}


KEY_SCHEMA = json.dumps(_avro_record("OrderKey", [{"name": "id", "type": "long"}]))
_AVRO_FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "created", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "amount", "type": "double"},
    {"name": "quantity", "type": "int"},
    {"name": "paid", "type": "boolean"},
    {"name": "currency", "type": "string"},
    {"name": "reference", "type": "string"},
    {"name": "customer", "type": ["null", "string"], "default": None},
    {"name": "comment", "type": ["null", "string"], "default": None},
]
_AVRO_UNIONS = [
    {"name": "code", "type": ["string", "long"]},
    {
        "name": "payment",
        "type": [
            _avro_record("Card", [{"name": "last", "type": "string"}]),
            _avro_record("Transfer", [{"name": "iban", "type": "string"}, {"name": "days", "type": "int"}]),
        ],
    },
]
VALUE_SCHEMA = json.dumps(_avro_record("Order", _AVRO_FIELDS))
SCHEMAS = {KEY_ID: KEY_SCHEMA, VALUE_ID: VALUE_SCHEMA}
_OPTIONAL_TEXT = {"oneOf": [{"type": "null"}, {"type": "string"}]}
JSON_KEY_SCHEMA = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})
_JSON_PROPERTIES = {
    "id": {"type": "integer"},
    "created": {"type": "integer", "title": "org.apache.kafka.connect.data.Timestamp"},
    "amount": {"type": "number"},
    "quantity": {"type": "integer", "connect.type": "int32"},
    "paid": {"type": "boolean"},
    "currency": {"type": "string"},
    "reference": {"type": "string"},
    "customer": _OPTIONAL_TEXT,
    "comment": _OPTIONAL_TEXT,
}
_JSON_UNIONS = {
    "code": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    "payment": {
        "oneOf": [
            {
                "type": "object",
                "title": "Card",
                "properties": {"method": {"type": "string", "const": "card"}, "last": {"type": "string"}},
                "required": ["method", "last"],
            },
            {
                "type": "object",
                "title": "Transfer",
                "properties": {"iban": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["iban"],
            },
        ]
    },
}


def schemas_of(form: Format, values: Values = "plain") -> tuple[str, str]:
    """The schemas of keys and of values."""
    has_unions = values == "unions"
    if form == "avro":
        fields = [*(_AVRO_UNIONS if has_unions else ()), *_AVRO_FIELDS]
        return KEY_SCHEMA, json.dumps(_avro_record("Order", fields))
    properties = {**(_JSON_UNIONS if has_unions else {}), **_JSON_PROPERTIES}
    return JSON_KEY_SCHEMA, json.dumps({"type": "object", "properties": properties})


_CURRENCIES = ["EUR", "USD", "GBP", "JPY"]
_FIRST_MILLIS = 1_790_000_000_000
_HEADER = struct.Struct(">bI")
_DOUBLE = struct.Struct("<d")
#: Unions as values begin with them: a text and a card, an integer and a transfer.
_AVRO_UNION = (b"\x00\x08A-17\x00\x084242", b"\x02\x22\x02\x2cDE89370400440532013000\x06")
_JSON_UNION = (
    b'{"code":"A-17","payment":{"method":"card","last":"4242"},',
    b'{"code":17,"payment":{"iban":"DE89370400440532013000","days":3},',
)
_START_SECONDS = 60.0
_FIRST_PORT = 31_000


@dataclass(frozen=True, slots=True)
class Orders:
    """What the topics contain.

    Attributes:
        records: in all topics.
        record_bytes: size of a value with its header.
        distinct_keys: the keys that each record's is drawn from.
        skew: share of the records that have one and the same key, and hence one partition.
        partitions: of each topic.
        topics: the topics that the records are spread over.
        format: of keys and values.
        values: what the values have besides.
    """

    records: int
    record_bytes: int = 500
    distinct_keys: int = 1_000_000
    skew: float = 0.0
    partitions: int = 8
    topics: int = 1
    format: Format = "avro"
    values: Values = "plain"

    @property
    def names(self) -> list[str]:
        """The topics' names."""
        kind = f".{self.format}.{self.values}"
        return [f"orders{kind}.{number:03d}.of_{self.records}" for number in range(self.topics)]

    def messages(self, seed: int = 7) -> Iterator[tuple[int, bytes, bytes]]:
        """The key's number, the key and the value of each record; the same ones for the same seed."""
        source = random.Random(seed)  # noqa: S311 - not for cryptography
        text = _text(source)
        encode = _in_avro if self.format == "avro" else partial(_in_json, points=self.values == "points")
        union = _AVRO_UNION if self.format == "avro" else _JSON_UNION
        header, key_header = _HEADER.pack(0, VALUE_ID), _HEADER.pack(0, KEY_ID)
        last = len(text) - self.record_bytes
        for number in range(self.records):
            hot = self.skew and source.random() < self.skew
            key = 0 if hot else int(source.random() * self.distinct_keys)
            amount, reference = source.random() * 1000, source.randbytes(16).hex().encode()
            encoded_key, start, end = encode(number, key, amount, reference)
            if self.values == "unions":
                start = union[number & 1] + start[self.format == "json" :]
            # The rest of the record is the comment.
            length = max(64, self.record_bytes - len(header) - len(start) - len(end))
            at = int(source.random() * last)
            if self.format == "avro":
                length = max(64, length - 2)
                start += _long(length)
            yield number, key_header + encoded_key, b"".join((header, start, text[at : at + length], end))


@contextmanager
def broker(folder: Path) -> Iterator[BrokerProcess]:
    """Run a broker in a folder."""
    port, controller = _free_ports()
    found = BrokerProcess("lkc-benchmark", port, controller, folder / "kafka", folder / "run")
    found.prepare()
    with ExitStack() as stack:
        log = stack.enter_context((folder / "broker.log").open("w"))
        process = subprocess.Popen(found.command(), stdout=log, stderr=subprocess.STDOUT)
        stack.callback(_end, process)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                found.check()
                break
            except LineageBridgeError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.3)
        yield found


def create_topics(address: str, names: list[str], partitions: int) -> None:
    """Create topics without retention."""
    admin = AdminClient({"bootstrap.servers": address})
    new = [NewTopic(name, partitions, 1, config={"retention.ms": "-1"}) for name in names]
    for future in admin.create_topics(new).values():
        future.result(60)


def fill(address: str, orders: Orders) -> None:
    """Create the topics and produce their records."""
    create_topics(address, orders.names, orders.partitions)
    producer = Producer(
        {
            "bootstrap.servers": address,
            "compression.type": "lz4",
            "linger.ms": 50,
            "batch.size": 500_000,
            "queue.buffering.max.messages": 200_000,
            # Java's producers place keys in the same partitions.
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
        }
    )
    failed: list[str] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error.str())

    names, count = orders.names, orders.topics
    for number, key, value in orders.messages():
        while True:
            try:
                producer.produce(names[number % count], value, key, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.05)
        if not number % 10_000:
            producer.poll(0)
    producer.flush()
    if failed:
        raise RuntimeError(f"{len(failed)} records were not written: {failed[0]}")


def _in_avro(number: int, key: int, amount: float, reference: bytes) -> tuple[bytes, bytes, bytes]:
    """The key, and what a value has before the length of its comment and after its text."""
    encoded = _long(key)
    value = (
        encoded,
        _long(_FIRST_MILLIS + number),
        _DOUBLE.pack(amount),
        _long(number % 50),
        b"\x01" if number % 3 else b"\x00",
        b"\x06",
        _CURRENCIES[number & 3].encode(),
        b"\x40",
        reference,
        b"\x02\x18",
        b"c%011d" % (key % 50_000),
        b"\x02",
    )
    return encoded, b"".join(value), b""


def _in_json(
    number: int, key: int, amount: float, reference: bytes, *, points: bool
) -> tuple[bytes, bytes, bytes]:
    """The key, and what a value has before and after the text of its comment."""
    zero = ".0" if points else ""
    value = (
        f'{{"id":{key}{zero},"created":{_FIRST_MILLIS + number}{zero},"amount":{amount!r},'
        f'"quantity":{number % 50}{zero},'
        f'"paid":{"true" if number % 3 else "false"},"currency":"{_CURRENCIES[number & 3]}",'
        f'"reference":"{reference.decode()}","customer":"c{key % 50_000:011d}","comment":"'
    )
    return b'{"id":%d%s}' % (key, zero.encode()), value.encode(), b'"}'


def _long(value: int) -> bytes:
    """Avro's variable-length zigzag of a number that is not negative."""
    value <<= 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _text(source: random.Random) -> bytes:
    """Some megabytes of words, the frequent ones more often, to cut comments from."""
    letters = "etaoinshrdlu"
    words = ["".join(source.choices(letters, k=source.randint(2, 9))) for _ in range(5_000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    return " ".join(source.choices(words, weights, k=600_000)).encode()


def _free_ports() -> tuple[int, int]:
    free = (port for port in range(_FIRST_PORT, _FIRST_PORT + 1_000) if is_free(port))
    return next(free), next(free)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(30)
