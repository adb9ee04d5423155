"""Avro schemas of the sample topics, and functions that create their records.

Each function is deterministic for a record's index and seeded generator, so that seeding can resume after an
interruption and every machine has the same data. Event times increase from a fixed date.
"""

from __future__ import annotations

import random
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

EPOCH = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
COUNTRIES = ("US", "CA", "MX", "BR")
EU_COUNTRIES = ("DE", "FR", "ES", "NL", "PL")
SEGMENTS = ("NEW", "REGULAR", "LOYAL", "VIP")
STATUSES = ("PLACED", "PAID", "SHIPPED", "DELIVERED", "CANCELLED")
PAGES = ("/", "/search", "/product", "/basket", "/checkout", "/orders")
FIRST_NAMES = ("Ada", "Grace", "Zoë", "Iñaki", "Søren", "Mária", "Noor", "Łukasz", "Chen", "Amara")
LAST_NAMES = ("Okafor", "Lindqvist", "García", "Müller", "Novák", "Haddad", "Silva", "Kim")


#: An Avro schema, or a record's value.
Avro = dict[str, Any]


def _record(name: str, doc: str, *fields: Avro, namespace: str = "com.example.retail") -> Avro:
    return {"type": "record", "name": name, "namespace": namespace, "doc": doc, "fields": list(fields)}


def _field(name: str, kind: Any, doc: str = "", **more: Any) -> Avro:
    return {"name": name, "type": kind, **({"doc": doc} if doc else {}), **more}


def _optional(name: str, kind: Any, doc: str = "") -> Avro:
    return _field(name, ["null", kind], doc, default=None)


def _money(precision: int = 10) -> Avro:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}


MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
DATE = {"type": "int", "logicalType": "date"}
UUID = {"type": "string", "logicalType": "uuid"}


def _change_fields() -> tuple[Avro, ...]:
    """Return the fields that Debezium's ExtractNewRecordState adds to a flattened row."""
    return (
        _optional("__op", "string", "c, u, d or r (snapshot)"),
        _optional(
            "__source_ts_ms", "long", "Commit time in the source database, in milliseconds since the epoch"
        ),
        _optional("__deleted", "string", "'true' on a deletion"),
    )


def _change(index: int, when: datetime) -> Avro:
    return {
        "__op": "r" if index < 100 else "c",
        "__source_ts_ms": int(when.timestamp() * 1000),
        "__deleted": "false",
    }


def _money_of(rng: random.Random, low: int, high: int) -> Decimal:
    return Decimal(rng.randrange(low * 100, high * 100)) / 100


def _uuid_of(rng: random.Random) -> uuid.UUID:
    return uuid.UUID(int=rng.getrandbits(128), version=4)


def _name_of(rng: random.Random) -> str:
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


CUSTOMER_ROW = _record(
    "Value",
    "A row of shop.public.customers",
    _field("id", "long", "Primary key"),
    _field("name", "string", "Full name"),
    _optional("email", "string", "Null after the customer's erasure request"),
    _field("country", "string", "ISO 3166-1 alpha-2"),
    _field("segment", "string"),
    _field("born_on", DATE),
    _field("created_at", MILLIS),
    *_change_fields(),
    namespace="shop.public.customers",
)


def customer_row(index: int, rng: random.Random) -> tuple[str, Avro]:
    when = EPOCH + timedelta(seconds=30 * index)
    row = {
        "id": 1 + index,
        "name": _name_of(rng),
        "email": None if index % 40 == 7 else f"customer{1 + index}@mail.example",
        "country": rng.choice(COUNTRIES + EU_COUNTRIES),
        "segment": rng.choice(SEGMENTS),
        "born_on": date(1950, 1, 1) + timedelta(days=rng.randrange(20000)),
        "created_at": when,
        **_change(index, when),
    }
    return str(row["id"]), row


ORDER_ROW = _record(
    "Value",
    "A row of shop.public.orders",
    _field("id", "long", "Primary key"),
    _field("customer_id", "long", "shop.public.customers.id"),
    _field("status", "string", "PLACED, PAID, SHIPPED, DELIVERED or CANCELLED"),
    _field("total", _money(), "Gross, in currency"),
    _field("currency", "string", "ISO 4217"),
    _field("ordered_at", MILLIS),
    *_change_fields(),
    namespace="shop.public.orders",
)


def order_row(index: int, rng: random.Random) -> tuple[str, Avro]:
    when = EPOCH + timedelta(seconds=7 * index)
    row = {
        "id": 1000 + index,
        "customer_id": 1 + rng.randrange(600),
        "status": rng.choice(STATUSES),
        "total": _money_of(rng, 5, 900),
        "currency": "USD",
        "ordered_at": when,
        **_change(index, when),
    }
    return str(row["id"]), row


ITEM_ROW = _record(
    "Value",
    "A row of shop.public.order_items",
    _field("order_id", "long", "shop.public.orders.id"),
    _field("line", "int", "Counted from 1 within the order"),
    _field("sku", "string"),
    _field("quantity", "int"),
    _field("unit_price", _money()),
    *_change_fields(),
    namespace="shop.public.order_items",
)


def item_row(index: int, rng: random.Random) -> tuple[str, Avro]:
    order, line = 1000 + index // 2, 1 + index % 2
    row = {
        "order_id": order,
        "line": line,
        "sku": f"SKU-{rng.randrange(300):04d}",
        "quantity": rng.randrange(1, 5),
        "unit_price": _money_of(rng, 2, 200),
        **_change(index, EPOCH + timedelta(seconds=4 * index)),
    }
    return f"{order}-{line}", row


PRODUCT = _record(
    "products",
    "A row of inventory.public.products",
    _field("sku", "string", "Primary key"),
    _field("title", "string"),
    _field("price", _money()),
    _field("stock", "int", "Units in stock"),
    _optional("weight_kg", "double"),
    _field("updated_at", MILLIS),
    namespace="inventory",
)


def product(index: int, rng: random.Random) -> tuple[str, Avro]:
    sku = f"SKU-{index:04d}"
    return sku, {
        "sku": sku,
        "title": f"Product {index} – {rng.choice(('small', 'medium', 'large'))}",
        "price": _money_of(rng, 2, 200),
        "stock": rng.randrange(500),
        "weight_kg": None if index % 9 == 0 else round(rng.uniform(0.1, 20), 2),
        "updated_at": EPOCH + timedelta(minutes=index),
    }


CLICK = _record(
    "Click",
    "A page view in the web shop",
    _field("event_id", UUID),
    _field("user_id", "long", "0 for a visitor who is not signed in"),
    _field(
        "page",
        _record("Page", "The requested page", _field("path", "string"), _optional("referrer", "string")),
    ),
    _field(
        "device",
        {"type": "enum", "name": "Device", "symbols": ["DESKTOP", "MOBILE", "TABLET"]},
    ),
    _field("tags", {"type": "map", "values": "string"}, "Campaign and experiment"),
    _field("duration_ms", "int", "Time until the next page view, in milliseconds"),
    _field("occurred_at", MILLIS),
)


def click(index: int, rng: random.Random) -> tuple[str, Avro]:
    user = 0 if rng.random() < 0.3 else 1 + rng.randrange(600)
    row = {
        "event_id": _uuid_of(rng),
        "user_id": user,
        "page": {
            "path": rng.choice(PAGES),
            "referrer": rng.choice((None, "https://search.example/", "https://news.example/")),
        },
        "device": rng.choice(("DESKTOP", "MOBILE", "TABLET")),
        "tags": {"campaign": f"c{rng.randrange(5)}"} if index % 3 == 0 else {},
        "duration_ms": rng.randrange(200, 90_000),
        "occurred_at": EPOCH + timedelta(seconds=2 * index),
    }
    return str(user), row


def checkout_click(index: int, rng: random.Random) -> tuple[str, Avro]:
    """Return a click that passes the filter of the ksqlDB query CSAS_CHECKOUT_CLICKS_3."""
    key, row = click(index, rng)
    return key, {**row, "page": {**row["page"], "path": "/checkout"}}


ORDER = _record(
    "Order",
    "An order in the company-wide format, which is the same in every region",
    _field("order_id", "long"),
    _field("customer_id", "long"),
    _optional("customer_name", "string"),
    _field("country", "string", "ISO 3166-1 alpha-2 of the customer"),
    _field("status", "string"),
    _field("lines", "int", "Number of lines"),
    _field("total", _money(), "Gross, in currency"),
    _field("currency", "string"),
    _field("ordered_at", MILLIS),
)


def _order(index: int, rng: random.Random, countries: tuple[str, ...], currency: str, first: int) -> Avro:
    return {
        "order_id": first + index,
        "customer_id": 1 + rng.randrange(600),
        "customer_name": None if index % 25 == 3 else _name_of(rng),
        "country": rng.choice(countries),
        "status": rng.choice(STATUSES),
        "lines": rng.randrange(1, 6),
        "total": _money_of(rng, 5, 900),
        "currency": currency,
        "ordered_at": EPOCH + timedelta(seconds=7 * index),
    }


def order_us(index: int, rng: random.Random) -> tuple[str, Avro]:
    row = _order(index, rng, COUNTRIES, "USD", 1000)
    return str(row["order_id"]), row


def order_eu(index: int, rng: random.Random) -> tuple[str, Avro]:
    row = _order(index, rng, EU_COUNTRIES, "EUR", 500_000)
    return str(row["order_id"]), row


PAID_ORDER = _record(
    "PaidOrder",
    "A paid order, in the shape that the first generation of consumers expects",
    _field("order_id", "long"),
    _field("amount", _money()),
    _field("paid_at", MILLIS),
)


def paid_order(index: int, rng: random.Random) -> tuple[str, Avro]:
    row = {
        "order_id": 1000 + 3 * index,
        "amount": _money_of(rng, 5, 900),
        "paid_at": EPOCH + timedelta(seconds=21 * index),
    }
    return str(row["order_id"]), row


REVENUE = _record(
    "Revenue",
    "Revenue of one country in one window",
    _field("window_start", MILLIS),
    _field("window_end", MILLIS),
    _field("country", "string"),
    _field("orders", "long", "Number of orders"),
    _field("revenue", _money(16)),
)


def _revenue(index: int, rng: random.Random, countries: tuple[str, ...]) -> tuple[str, Avro]:
    start = EPOCH + timedelta(hours=index // len(countries))
    country = countries[index % len(countries)]
    return country, {
        "window_start": start,
        "window_end": start + timedelta(hours=1),
        "country": country,
        "orders": rng.randrange(1, 400),
        "revenue": _money_of(rng, 100, 90_000),
    }


def revenue_by_country(index: int, rng: random.Random) -> tuple[str, Avro]:
    return _revenue(index, rng, COUNTRIES)


def revenue_global(index: int, rng: random.Random) -> tuple[str, Avro]:
    return _revenue(index, rng, COUNTRIES + EU_COUNTRIES)


SESSION = _record(
    "Session",
    "A visit with its page views",
    _field("session_id", UUID),
    _field("user_id", "long"),
    _optional("country", "string"),
    _field(
        "pages",
        {
            "type": "array",
            "items": _record(
                "PageView", "A page within a session", _field("path", "string"), _field("views", "int")
            ),
        },
    ),
    _field("started_at", MILLIS),
    _field("duration_ms", "long"),
)


def session(index: int, rng: random.Random) -> tuple[str, Avro]:
    row = {
        "session_id": _uuid_of(rng),
        "user_id": 1 + rng.randrange(600),
        "country": rng.choice((None, *COUNTRIES)),
        "pages": [{"path": p, "views": rng.randrange(1, 6)} for p in PAGES[: 1 + rng.randrange(len(PAGES))]],
        "started_at": EPOCH + timedelta(seconds=20 * index),
        "duration_ms": rng.randrange(1_000, 3_600_000),
    }
    return str(row["session_id"]), row


ORDER_STATUS = _record(
    "OrderStatus",
    "The latest status of an order, and its number of changes",
    _field("order_id", "long"),
    _field("status", "string"),
    _field("changes", "int"),
    _field("changed_at", MILLIS),
)


def order_status(index: int, rng: random.Random) -> tuple[str, Avro]:
    row = {
        "order_id": 1000 + index,
        "status": rng.choice(STATUSES),
        "changes": rng.randrange(1, 5),
        "changed_at": EPOCH + timedelta(seconds=11 * index),
    }
    return str(row["order_id"]), row


def open_order(index: int, rng: random.Random) -> tuple[str, Avro]:
    """Return the status of an order that is neither delivered nor cancelled."""
    key, row = order_status(index, rng)
    return key, {**row, "status": rng.choice(("PLACED", "PAID", "SHIPPED"))}


PROFILE = _record(
    "CustomerProfile",
    "A European customer with the orders placed so far",
    _field("customer_id", "long"),
    _field("name", "string"),
    _field(
        "address",
        _record("Address", "Delivery address", _field("city", "string"), _field("country", "string")),
    ),
    _field("consents", {"type": "array", "items": "string"}, "Purposes consented to (GDPR, article 6)"),
    _field("orders", "long"),
    _field("lifetime_value", _money(16)),
    _field("updated_at", MILLIS),
)


def profile(index: int, rng: random.Random) -> tuple[str, Avro]:
    row = {
        "customer_id": 1 + index,
        "name": _name_of(rng),
        "address": {
            "city": rng.choice(("Berlin", "Lyon", "Málaga", "Utrecht", "Łódź")),
            "country": rng.choice(EU_COUNTRIES),
        },
        "consents": rng.sample(("newsletter", "profiling", "sharing"), rng.randrange(4)),
        "orders": rng.randrange(60),
        "lifetime_value": _money_of(rng, 0, 20_000),
        "updated_at": EPOCH + timedelta(minutes=3 * index),
    }
    return str(row["customer_id"]), row


PAYMENT = _record(
    "Payment",
    "A payment reported by the provider, which repeats the report until it is acknowledged",
    _field("payment_id", UUID),
    _field("order_id", "long"),
    _field("amount", _money()),
    _field("method", {"type": "enum", "name": "Method", "symbols": ["CARD", "SEPA", "INVOICE"]}),
    _field("paid_at", MILLIS),
)


def payment(index: int, rng: random.Random) -> tuple[str, Avro]:
    row = {
        "payment_id": _uuid_of(rng),
        "order_id": 500_000 + index,
        "amount": _money_of(rng, 5, 900),
        "method": rng.choice(("CARD", "SEPA", "INVOICE")),
        "paid_at": EPOCH + timedelta(seconds=13 * index),
    }
    return str(row["order_id"]), row
