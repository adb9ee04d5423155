"""Objects of events are read once each, whatever happens to them meanwhile, and one leaves the others."""

from __future__ import annotations

import gzip
import io
import itertools
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.event_sources import s3
from lineage_bridge_dagster.event_sources.s3 import EventObjects
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSourceError
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster_tests.event_sources.test_files import NOW, names, told

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Answer = Callable[[str], AWSResponse | None]
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def client() -> Iterator[S3Client]:
    """moto's S3, which lists two objects a page."""
    with pytest.MonkeyPatch.context() as patch, StrictAws() as aws:
        patch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "2")
        yield aws.client("s3", config=Config(retries={"total_max_attempts": 1}))


class Bucket:
    """A bucket of its own.

    Attributes:
        fetched: The keys of the objects that were read.
        answer: What S3 returns for a key instead.
    """

    def __init__(self, client: S3Client, name: str) -> None:
        self.client, self.name = client, name
        self.fetched: list[str] = []
        self.answer: Answer = lambda _key: None
        client.create_bucket(Bucket=name)

    def put(self, key: str, *events: str, packed: bool = False) -> None:
        text = "".join(f"{each}\n" for each in events).encode()
        self.client.put_object(Bucket=self.name, Key=key, Body=gzip.compress(text) if packed else text)

    def on_get(self, request: Any, **_: Any) -> AWSResponse | None:
        key = request.url.partition(f"{self.name}/")[2]
        self.fetched.append(key)
        return self.answer(key)

    def read(self, last: EventIntake | None = None, prefix: str = "") -> EventIntake:
        intake = next_intake(last)
        EventObjects(f"s3://{self.name}/{prefix}", lambda: self.client).read(intake)
        return intake

    def failed(self, last: EventIntake | None = None) -> tuple[EventIntake, EventSourceError]:
        intake = next_intake(last)
        with pytest.raises(EventSourceError) as caught:
            EventObjects(f"s3://{self.name}", lambda: self.client).read(intake)
        return intake, caught.value


def next_intake(last: EventIntake | None) -> EventIntake:
    position = json.loads(json.dumps(last.position)) if last else {}
    return EventIntake(last.ledger if last else JobLedger(NOW), position)


@pytest.fixture
def bucket(client: S3Client) -> Iterator[Bucket]:
    found = Bucket(client, f"events-{next(_NUMBERS)}")
    client.meta.events.register("before-send.s3.GetObject", found.on_get)
    yield found
    client.meta.events.unregister("before-send.s3.GetObject", found.on_get)


def answered(status: int, code: str = "", body: bytes = b"", **headers: str) -> AWSResponse:
    text = body or f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
    raw = io.BytesIO(text)
    raw.stream = lambda **_: iter(lambda: raw.read(64), b"")  # type: ignore[attr-defined]
    return AWSResponse("http://s3", status, headers, raw)


def test_pages_of_objects_are_read_once_and_only_those_below_the_prefix(bucket: Bucket) -> None:
    for name in "abcde":
        bucket.put(f"events/{name}.ndjson", told(name))
    bucket.put("events/f.json.gz", told("f"), packed=True)
    bucket.put("events/g.json", told("g"), packed=True)
    for key in ("events/notes.md", "events-old/x.ndjson", "x.ndjson"):
        bucket.put(key, told("x"))
    listed = bucket.client.list_objects_v2(Bucket=bucket.name)
    assert (listed["KeyCount"], listed["IsTruncated"]) == (2, True)
    first = bucket.read(prefix="events")
    assert (names(first), first.count, first.refused) == ([*"abcdefg"], 7, [])
    bucket.put("events/h.ndjson", told("h"))
    bucket.client.delete_object(Bucket=bucket.name, Key="events/a.ndjson")
    second = bucket.read(first, "events")
    assert (names(second), second.count) == ([*"abcdefgh"], 1)
    assert "events/a.ndjson" not in second.position["objects"]
    assert bucket.read(second, "events").count == 0
    one = bucket.read(prefix="events/notes.md")
    assert names(one) == ["x"]


def test_an_object_that_was_last_changed_too_long_ago_is_not_read(bucket: Bucket) -> None:
    bucket.put("a.ndjson", told("a"))
    intake = next_intake(None)
    intake.since = datetime.now(UTC) + timedelta(days=1)
    EventObjects(f"s3://{bucket.name}", lambda: bucket.client).read(intake)
    assert (intake.count, bucket.fetched, intake.position) == (0, [], {"objects": {}})


def test_an_object_that_grows_or_is_overwritten_is_read_again_even_while_it_is_listed(bucket: Bucket) -> None:
    bucket.put("a.ndjson", told("a"))
    last = bucket.read()
    bucket.put("a.ndjson", told("a"), told("b"))

    def overwrite(key: str) -> None:
        bucket.answer = lambda _key: None
        bucket.put(key, told("a"), told("b"), told("c"))

    # Between the list and the read it is overwritten once more.
    bucket.answer = overwrite
    last = bucket.read(last)
    assert names(last) == ["a", "b", "c"]
    bucket.fetched.clear()
    assert (bucket.read(last).count, bucket.fetched) == (0, [])


@pytest.mark.parametrize(
    ("body", "taken", "refused"),
    [
        (b"\x00\xff garbage", 0, ["line 1"]),
        (b"", 0, []),
        (told("b").encode() + b"\n" + told("c")[:90].encode(), 1, ["line 2"]),
        (told("b").encode(), 1, []),
        (gzip.compress(b"\n".join(map(str.encode, map(told, "bcdefgh"))))[:-40], 0, ["unpacked"]),
        (gzip.compress(told("b").encode() + b"\n") + b"\x1f\x8bgarbage", 1, ["unpacked"]),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + b"\xff" * 40, 0, ["unpacked"]),
        (gzip.compress(b"[" + told("b").encode() + b",\n" + told("c").encode())[:-30], 0, ["unpacked"]),
    ],
    # gzip's own header has the time.
    ids=[
        "garbage",
        "empty",
        "half a line",
        "one line",
        "half a gzip",
        "two members",
        "no deflate",
        "half a list",
    ],
)
def test_garbage_is_named_once_and_leaves_the_others(
    bucket: Bucket, body: bytes, taken: int, refused: list[str]
) -> None:
    bucket.client.put_object(Bucket=bucket.name, Key="bad.json.gz", Body=body)
    bucket.put("good.json", told("z"))
    found = bucket.read()
    assert found.count >= taken + 1
    assert "z" in names(found)
    assert len(found.refused) == len(refused)
    assert all(
        what in text and "bad.json.gz" in text for what, text in zip(refused, found.refused, strict=True)
    )
    again = bucket.read(found)
    assert (again.count, again.refused) == (0, [])


@pytest.mark.parametrize(
    ("status", "code"), [(403, "AccessDenied"), (403, "InvalidObjectState"), (400, "KMS.DisabledException")]
)
def test_an_object_that_may_not_be_read_leaves_the_others_and_is_read_later(
    bucket: Bucket, status: int, code: str
) -> None:
    bucket.put("b.ndjson", told("old"))
    last = bucket.read()
    for name in "abc":
        bucket.put(f"{name}.ndjson", told(name))
    bucket.answer = lambda key: answered(status, code) if key == "b.ndjson" else None
    last, error = bucket.failed(last)
    assert (error.partial, error.denied) == (True, False)
    assert f"b.ndjson in s3://{bucket.name} could not be read" in error.message
    assert names(last) == ["a", "c", "old"]
    bucket.answer = lambda _key: None
    assert names(bucket.read(last)) == ["a", "b", "c", "old"]


def test_an_object_that_vanishes_after_it_was_listed_is_none(bucket: Bucket) -> None:
    for name in "ab":
        bucket.put(f"{name}.ndjson", told(name))
    bucket.answer = lambda key: answered(404, "NoSuchKey") if key == "a.ndjson" else None
    assert names(bucket.read()) == ["b"]


def half(key: str) -> AWSResponse | None:
    whole = told("b").encode() + b"\n"
    return answered(200, body=whole[:-9], ETag='"b"', **{"Content-Length": str(len(whole))})


@pytest.mark.parametrize(
    "answer", [lambda _key: answered(503, "SlowDown"), lambda _key: answered(500, "InternalError"), half]
)
def test_an_outage_on_the_way_keeps_what_was_read_and_goes_on_there(bucket: Bucket, answer: Answer) -> None:
    for name in "abc":
        bucket.put(f"{name}.ndjson", told(name))
    bucket.answer = lambda key: answer(key) if key == "b.ndjson" else None
    last, error = bucket.failed()
    assert (error.partial, error.denied) == (True, False)
    assert (names(last), list(last.position["objects"])) == (["a"], ["a.ndjson"])
    bucket.answer = lambda _key: None
    bucket.fetched.clear()
    assert names(bucket.read(last)) == ["a", "b", "c"]
    assert bucket.fetched == ["b.ndjson", "c.ndjson"]


def test_a_bucket_that_is_not_there_or_may_not_be_listed_is_no_empty_one(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = EventObjects("s3://nowhere-at-all/x", lambda: bucket.client)
    for ask in (source.probe, lambda: source.read(next_intake(None))):
        with pytest.raises(EventSourceError, match="NoSuchBucket") as caught:
            ask()
        assert not caught.value.denied
    bucket.put("a.json", told("a"))
    bucket.put("b.json", told("b"))
    probed = EventObjects(f"s3://{bucket.name}", lambda: bucket.client)
    assert probed.probe() == "2 objects can be listed."
    # Reading as many as there may be at most gives up; nothing is known of those behind.
    monkeypatch.setattr(s3, "_MAX_UNREADABLE", 1)
    bucket.answer = lambda _key: answered(403, "AccessDenied")
    _, error = bucket.failed()
    assert (error.denied, error.partial, bucket.fetched) == (True, False, ["a.json"])
    assert "s3:GetObject" in (error.hint or "")
    denied = bucket.client.meta.events
    refuse = lambda **_: answered(403, "AccessDenied")  # noqa: E731
    denied.register("before-send.s3.HeadObject", refuse)
    try:
        with pytest.raises(EventSourceError) as caught:
            probed.probe()
        assert caught.value.denied
    finally:
        denied.unregister("before-send.s3.HeadObject", refuse)
