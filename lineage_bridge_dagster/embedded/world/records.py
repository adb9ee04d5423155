"""The records of the sample topics: of each column its Avro type, and how its values are made.

Values are deterministic for a record's index and seeded generator, so that seeding can resume after an
interruption and every machine has the same data. Event times increase from a fixed date.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

EPOCH = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
COUNTRIES = ("US", "CA", "MX", "BR")
EU_COUNTRIES = ("DE", "FR", "ES", "NL", "PL")
STATUSES = ("PLACED", "PAID", "SHIPPED", "DELIVERED", "CANCELLED")
PAGES = ("/", "/search", "/product", "/basket", "/checkout", "/orders")
DEVICES = ("DESKTOP", "MOBILE", "TABLET")
METHODS = ("CARD", "SEPA", "INVOICE")
FIRST_NAMES = ("Ada", "Grace", "Zoë", "Iñaki", "Søren", "Mária", "Noor", "Łukasz", "Chen", "Amara")
LAST_NAMES = ("Okafor", "Lindqvist", "García", "Müller", "Novák", "Haddad", "Silva", "Kim")

#: An Avro schema, or a record's value.
Avro = dict[str, Any]

#: Makes a value for the index of its record.
Make = Callable[[int, random.Random], Any]

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
UUID = {"type": "string", "logicalType": "uuid"}


@dataclass(frozen=True, slots=True)
class SampleColumn:
    """A field of an Avro record, and how its values are made."""

    field: Avro
    make: Make


@dataclass(frozen=True, slots=True)
class SampleRecords:
    """The records of a topic.

    Attributes:
        key: The fields whose values are the key, with hyphens between them.
        makes: How the value of each field is made.
    """

    schema: Avro
    key: Sequence[str]
    makes: Mapping[str, Make]

    def make(self, index: int, rng: random.Random) -> tuple[str, Avro]:
        """The key and the value of the record of this index."""
        row = {name: make(index, rng) for name, make in self.makes.items()}
        return "-".join(str(row[name]) for name in self.key), row

    def but(self, **makes: Make) -> SampleRecords:
        """The same records, with other values of some fields."""
        return SampleRecords(self.schema, self.key, {**self.makes, **makes})


def _records(
    name: str, doc: str, key: str, *columns: SampleColumn, namespace: str = "com.example.retail"
) -> SampleRecords:
    schema = _record(name, doc, *(column.field for column in columns), namespace=namespace)
    makes = {column.field["name"]: column.make for column in columns}
    return SampleRecords(schema, key.split(), makes)


def _record(name: str, doc: str, *fields: Avro, namespace: str = "com.example.retail") -> Avro:
    return {"type": "record", "name": name, "namespace": namespace, "doc": doc, "fields": list(fields)}


def _field(name: str, kind: Any, doc: str = "") -> Avro:
    default = {"default": None} if isinstance(kind, list) else {}
    return {"name": name, "type": kind, **({"doc": doc} if doc else {}), **default}


def _column(name: str, kind: Any, make: Make, doc: str = "") -> SampleColumn:
    return SampleColumn(_field(name, kind, doc), make)


def _optional(kind: Any) -> list[Any]:
    return ["null", kind]


def _decimal(precision: int = 10) -> Avro:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}


def _enum(name: str, symbols: Sequence[str]) -> Avro:
    return {"type": "enum", "name": name, "symbols": list(symbols)}


def _array(items: Any) -> Avro:
    return {"type": "array", "items": items}


def _from(first: int, step: int = 1) -> Make:
    return lambda index, _: first + step * index


def _between(start: int, stop: int) -> Make:
    return lambda _, rng: rng.randrange(start, stop)


def _one_of(options: Sequence[Any]) -> Make:
    return lambda _, rng: rng.choice(options)


def _amount(low: int, high: int) -> Make:
    return lambda _, rng: Decimal(rng.randrange(low * 100, high * 100)) / 100


def _after(**step: float) -> Make:
    return lambda index, _: EPOCH + timedelta(**step) * index


def _uuid(_: int, rng: random.Random) -> uuid.UUID:
    return uuid.UUID(int=rng.getrandbits(128), version=4)


def _name(_: int, rng: random.Random) -> str:
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


def _changes(seconds: int) -> tuple[SampleColumn, ...]:
    """The columns that Debezium's ExtractNewRecordState adds to a flattened row."""
    commit = "Commit time in the source database, in milliseconds since the epoch"
    at = _after(seconds=seconds)
    return (
        _column("__op", _optional("string"), lambda n, _: "r" if n < 100 else "c", "c, u, d or r (snapshot)"),
        _column(
            "__source_ts_ms", _optional("long"), lambda n, rng: int(at(n, rng).timestamp() * 1000), commit
        ),
        _column("__deleted", _optional("string"), lambda *_: "false", "'true' on a deletion"),
    )


CUSTOMER_ROWS = _records(
    "Value",
    "A row of shop.public.customers",
    "id",
    _column("id", "long", _from(1), "Primary key"),
    _column("name", "string", _name, "Full name"),
    _column(
        "email",
        _optional("string"),
        lambda n, _: None if n % 40 == 7 else f"customer{1 + n}@mail.example",
        "Null after the customer's erasure request",
    ),
    _column("country", "string", _one_of(COUNTRIES + EU_COUNTRIES), "ISO 3166-1 alpha-2"),
    _column("segment", "string", _one_of(("NEW", "REGULAR", "LOYAL", "VIP"))),
    _column(
        "born_on",
        {"type": "int", "logicalType": "date"},
        lambda _, rng: date(1950, 1, 1) + timedelta(days=rng.randrange(20000)),
    ),
    _column("created_at", MILLIS, _after(seconds=30)),
    *_changes(30),
    namespace="shop.public.customers",
)

ORDER_ROWS = _records(
    "Value",
    "A row of shop.public.orders",
    "id",
    _column("id", "long", _from(1000), "Primary key"),
    _column("customer_id", "long", _between(1, 601), "shop.public.customers.id"),
    _column("status", "string", _one_of(STATUSES), "PLACED, PAID, SHIPPED, DELIVERED or CANCELLED"),
    _column("total", _decimal(), _amount(5, 900), "Gross, in currency"),
    _column("currency", "string", lambda *_: "USD", "ISO 4217"),
    _column("ordered_at", MILLIS, _after(seconds=7)),
    *_changes(7),
    namespace="shop.public.orders",
)

ITEM_ROWS = _records(
    "Value",
    "A row of shop.public.order_items",
    "order_id line",
    _column("order_id", "long", lambda n, _: 1000 + n // 2, "shop.public.orders.id"),
    _column("line", "int", lambda n, _: 1 + n % 2, "Counted from 1 within the order"),
    _column("sku", "string", lambda _, rng: f"SKU-{rng.randrange(300):04d}"),
    _column("quantity", "int", _between(1, 5)),
    _column("unit_price", _decimal(), _amount(2, 200)),
    *_changes(4),
    namespace="shop.public.order_items",
)

PRODUCTS = _records(
    "products",
    "A row of inventory.public.products",
    "sku",
    _column("sku", "string", lambda n, _: f"SKU-{n:04d}", "Primary key"),
    _column("title", "string", lambda n, rng: f"Product {n} – {rng.choice(('small', 'medium', 'large'))}"),
    _column("price", _decimal(), _amount(2, 200)),
    _column("stock", "int", _between(0, 500), "Units in stock"),
    _column(
        "weight_kg",
        _optional("double"),
        lambda n, rng: None if n % 9 == 0 else round(rng.uniform(0.1, 20), 2),
    ),
    _column("updated_at", MILLIS, _after(minutes=1)),
    namespace="inventory",
)


def _page(_: int, rng: random.Random) -> Avro:
    referrers = (None, "https://search.example/", "https://news.example/")
    return {"path": rng.choice(PAGES), "referrer": rng.choice(referrers)}


CLICKS = _records(
    "Click",
    "A page view in the web shop",
    "user_id",
    _column("event_id", UUID, _uuid),
    _column(
        "user_id",
        "long",
        lambda _, rng: 0 if rng.random() < 0.3 else rng.randrange(1, 601),
        "0 for a visitor who is not signed in",
    ),
    _column(
        "page",
        _record(
            "Page", "The requested page", _field("path", "string"), _field("referrer", _optional("string"))
        ),
        _page,
    ),
    _column("device", _enum("Device", DEVICES), _one_of(DEVICES)),
    _column(
        "tags",
        {"type": "map", "values": "string"},
        lambda n, rng: {"campaign": f"c{rng.randrange(5)}"} if n % 3 == 0 else {},
        "Campaign and experiment",
    ),
    _column("duration_ms", "int", _between(200, 90_000), "Time until the next page view, in milliseconds"),
    _column("occurred_at", MILLIS, _after(seconds=2)),
)

#: Those that pass the filter of the ksqlDB query CSAS_CHECKOUT_CLICKS_3.
CHECKOUT_CLICKS = CLICKS.but(page=lambda n, rng: {**_page(n, rng), "path": "/checkout"})

US_ORDERS = _records(
    "Order",
    "An order in the company-wide format, which is the same in every region",
    "order_id",
    _column("order_id", "long", _from(1000)),
    _column("customer_id", "long", _between(1, 601)),
    _column("customer_name", _optional("string"), lambda n, rng: None if n % 25 == 3 else _name(n, rng)),
    _column("country", "string", _one_of(COUNTRIES), "ISO 3166-1 alpha-2 of the customer"),
    _column("status", "string", _one_of(STATUSES)),
    _column("lines", "int", _between(1, 6), "Number of lines"),
    _column("total", _decimal(), _amount(5, 900), "Gross, in currency"),
    _column("currency", "string", lambda *_: "USD"),
    _column("ordered_at", MILLIS, _after(seconds=7)),
)
EU_ORDERS = US_ORDERS.but(order_id=_from(500_000), country=_one_of(EU_COUNTRIES), currency=lambda *_: "EUR")

PAID_ORDERS = _records(
    "PaidOrder",
    "A paid order, in the shape that the first generation of consumers expects",
    "order_id",
    _column("order_id", "long", _from(1000, 3)),
    _column("amount", _decimal(), _amount(5, 900)),
    _column("paid_at", MILLIS, _after(seconds=21)),
)


def _revenue(countries: Sequence[str]) -> SampleRecords:
    def window(hours: int) -> Make:
        return lambda index, _: EPOCH + timedelta(hours=index // len(countries) + hours)

    return _records(
        "Revenue",
        "Revenue of one country in one window",
        "country",
        _column("window_start", MILLIS, window(0)),
        _column("window_end", MILLIS, window(1)),
        _column("country", "string", lambda index, _: countries[index % len(countries)]),
        _column("orders", "long", _between(1, 400), "Number of orders"),
        _column("revenue", _decimal(16), _amount(100, 90_000)),
    )


REVENUE_BY_COUNTRY, REVENUE_GLOBAL = _revenue(COUNTRIES), _revenue(COUNTRIES + EU_COUNTRIES)


def _visited(_: int, rng: random.Random) -> list[Avro]:
    return [{"path": p, "views": rng.randrange(1, 6)} for p in PAGES[: 1 + rng.randrange(len(PAGES))]]


SESSIONS = _records(
    "Session",
    "A visit with its page views",
    "session_id",
    _column("session_id", UUID, _uuid),
    _column("user_id", "long", _between(1, 601)),
    _column("country", _optional("string"), _one_of((None, *COUNTRIES))),
    _column(
        "pages",
        _array(
            _record("PageView", "A page within a session", _field("path", "string"), _field("views", "int"))
        ),
        _visited,
    ),
    _column("started_at", MILLIS, _after(seconds=20)),
    _column("duration_ms", "long", _between(1_000, 3_600_000)),
)

ORDER_STATUS = _records(
    "OrderStatus",
    "The latest status of an order, and its number of changes",
    "order_id",
    _column("order_id", "long", _from(1000)),
    _column("status", "string", _one_of(STATUSES)),
    _column("changes", "int", _between(1, 5)),
    _column("changed_at", MILLIS, _after(seconds=11)),
)
#: Of orders that are neither delivered nor cancelled.
OPEN_ORDERS = ORDER_STATUS.but(status=_one_of(("PLACED", "PAID", "SHIPPED")))


def _address(_: int, rng: random.Random) -> Avro:
    cities = ("Berlin", "Lyon", "Málaga", "Utrecht", "Łódź")
    return {"city": rng.choice(cities), "country": rng.choice(EU_COUNTRIES)}


PROFILES = _records(
    "CustomerProfile",
    "A European customer with the orders placed so far",
    "customer_id",
    _column("customer_id", "long", _from(1)),
    _column("name", "string", _name),
    _column(
        "address",
        _record("Address", "Delivery address", _field("city", "string"), _field("country", "string")),
        _address,
    ),
    _column(
        "consents",
        _array("string"),
        lambda _, rng: rng.sample(("newsletter", "profiling", "sharing"), rng.randrange(4)),
        "Purposes consented to (GDPR, article 6)",
    ),
    _column("orders", "long", _between(0, 60)),
    _column("lifetime_value", _decimal(16), _amount(0, 20_000)),
    _column("updated_at", MILLIS, _after(minutes=3)),
)

PAYMENTS = _records(
    "Payment",
    "A payment reported by the provider, which repeats the report until it is acknowledged",
    "order_id",
    _column("payment_id", UUID, _uuid),
    _column("order_id", "long", _from(500_000)),
    _column("amount", _decimal(), _amount(5, 900)),
    _column("method", _enum("Method", METHODS), _one_of(METHODS)),
    _column("paid_at", MILLIS, _after(seconds=13)),
)
