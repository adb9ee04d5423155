"""Each fault at each step of a push to an Iceberg table, and what a second push makes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import requests
from pyiceberg.catalog.rest import RestCatalog
from urllib3.exceptions import NewConnectionError

from lineage_bridge_dagster.lineage.documents import KEY_SOURCE_TOPICS
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster_tests.targets.tables import (
    FOREIGN,
    Bucket,
    Fault,
    Name,
    answer,
    chain,
    fail,
    push,
    with_faults,
)

pytestmark = pytest.mark.xdist_group("rest")

TIMEOUT = fail(requests.ReadTimeout("Read timed out."))
CUT = fail(requests.ConnectionError("Connection aborted."))
GARBLED = answer(200)
#: Answers after which a commit may have been applied.
DOUBTFUL = {
    **{str(status): answer(status) for status in (500, 502, 503, 504)},
    "timeout": TIMEOUT,
    "cut": CUT,
    "garbled": GARBLED,
}
#: Answers that say that nothing was applied, now.
REJECTED_FOR_NOW = {
    "conflict": answer(409),
    "throttled": answer(429),
    "throttled by AWS": answer(400, "ThrottlingException"),
    "unreachable": fail(
        requests.ConnectionError(
            type("MaxRetryError", (Exception,), {"reason": NewConnectionError(None, "refused")})()  # type: ignore[arg-type]
        )
    ),
}
FINAL = {"denied": (403, "IAM"), "invalid": (400, ""), "missing": (404, "dropped"), "unsupported": (501, "")}

Effect = Callable[[], requests.Response]


@pytest.mark.parametrize("effect", DOUBTFUL.values(), ids=DOUBTFUL)
@pytest.mark.parametrize("applied", [True, False])
def test_a_commit_in_doubt_is_looked_up(
    bucket: Bucket, catalog: RestCatalog, name: Name, effect: Effect, applied: bool
) -> None:
    adapter = with_faults(catalog, Fault("POST", effect, applied=applied))
    result = push(catalog, name, chain())
    assert result.status is PushStatus.UPDATED, result.reason
    assert adapter.sent.count("POST") == (1 if applied else 2)
    assert result.after == bucket.properties(name)
    assert FOREIGN.items() <= result.after.items()


@pytest.mark.parametrize("effect", DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_commit_that_cannot_be_looked_up_is_unknown(
    bucket: Bucket, catalog: RestCatalog, name: Name, effect: Effect
) -> None:
    with_faults(catalog, Fault("POST", effect, applied=True), Fault("GET", answer(403), skip=1, times=9))
    result = push(catalog, name, chain())
    assert result.status is PushStatus.UNKNOWN
    assert "may have been applied" in result.reason
    assert push(bucket.open(), name, chain()).status is PushStatus.UNCHANGED


@pytest.mark.parametrize("effect", [*DOUBTFUL.values(), *REJECTED_FOR_NOW.values()])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_fault_that_stays_fails_and_the_next_push_makes_it_whole(
    bucket: Bucket, catalog: RestCatalog, name: Name, effect: Effect, method: str
) -> None:
    with_faults(catalog, Fault(method, effect, times=99))
    result = push(catalog, name, chain(), settings={"max_attempts": 3})
    assert (result.status, result.attempts) == (PushStatus.FAILED, 3)
    assert result.hint
    assert bucket.lineage(name) == {}
    assert push(bucket.open(), name, chain()).status is PushStatus.UPDATED


@pytest.mark.parametrize("effect", REJECTED_FOR_NOW.values(), ids=REJECTED_FOR_NOW)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_was_rejected_is_tried_again(
    catalog: RestCatalog, name: Name, effect: Effect, method: str
) -> None:
    with_faults(catalog, Fault(method, effect, times=2))
    result = push(catalog, name, chain())
    assert (result.status, result.attempts) == (PushStatus.UPDATED, 3)


@pytest.mark.parametrize(("status", "hint"), FINAL.values(), ids=FINAL)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_final_error_is_not_tried_again(
    bucket: Bucket, catalog: RestCatalog, name: Name, method: str, status: int, hint: str
) -> None:
    adapter = with_faults(catalog, Fault(method, answer(status), times=9))
    result = push(catalog, name, chain())
    assert (result.status, result.attempts) == (PushStatus.FAILED, 1)
    assert adapter.sent.count(method) == 1
    assert "s3tables." + ".".join(name) in result.reason
    assert hint in result.hint
    assert bucket.lineage(name) == {}


@pytest.mark.parametrize("applied", [True, False])
def test_a_process_killed_at_its_commit_is_made_whole_by_the_next(
    bucket: Bucket, catalog: RestCatalog, name: Name, applied: bool
) -> None:
    with_faults(catalog, Fault("POST", fail(KeyboardInterrupt()), applied=applied))
    with pytest.raises(KeyboardInterrupt):
        push(catalog, name, chain())
    result = push(bucket.open(), name, chain())
    assert result.status is (PushStatus.UNCHANGED if applied else PushStatus.UPDATED)
    assert bucket.lineage(name)[KEY_SOURCE_TOPICS] == "orders.v1"


def test_a_commit_that_stays_in_doubt_and_is_found_is_a_success(
    bucket: Bucket, catalog: RestCatalog, name: Name
) -> None:
    """The only attempt ends in doubt: the last look finds what it wrote."""
    with_faults(catalog, Fault("POST", TIMEOUT, applied=True))
    result = push(catalog, name, chain(), settings={"max_attempts": 1})
    assert result.status is PushStatus.UPDATED
    assert result.after == bucket.properties(name)
