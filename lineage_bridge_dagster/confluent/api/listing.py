"""Lists of records: the step from the session's JSON to what the clients return."""

from __future__ import annotations

from typing import TypeVar

import httpx

from lineage_bridge_dagster.confluent.api.errors import PartialAnswer
from lineage_bridge_dagster.confluent.api.http_errors import Access
from lineage_bridge_dagster.confluent.api.records import Record, read_all, read_partly
from lineage_bridge_dagster.confluent.api.session import PAGE_SIZE, ConfluentSession, Params

R = TypeVar("R", bound=Record)


def list_records(
    session: ConfluentSession,
    record: type[R],
    url: httpx.URL,
    access: Access,
    params: Params | None = None,
    *,
    page_size: int | None = PAGE_SIZE,
) -> list[R]:
    """All pages of a list as records.

    Raises:
        PartialAnswer: a later page could not be read, or some items are malformed; it carries the others.
        ConfluentError: there is no answer.
    """
    try:
        items = session.pages(url, access, params, page_size=page_size)
    except PartialAnswer as partial:
        raise read_partly(record, partial, url.path) from partial
    return read_all(record, items, url.path)
