"""Errors of a REST catalog that are its own, and what a push makes of each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import requests
from pyiceberg.catalog.rest import RestCatalog
from urllib3.exceptions import NewConnectionError

from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster_tests.catalogs.rest.tables import (
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

#: Answers that say that nothing was applied, now.
REJECTED_FOR_NOW = {
    "conflict": answer(409),
    "throttled by AWS": answer(400, "ThrottlingException"),
    "unreachable": fail(
        requests.ConnectionError(
            type("MaxRetryError", (Exception,), {"reason": NewConnectionError(None, "refused")})()  # type: ignore[arg-type]
        )
    ),
}
FINAL = {"denied": (403, "IAM"), "invalid": (400, ""), "missing": (404, "dropped"), "unsupported": (501, "")}

Effect = Callable[[], requests.Response]


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
