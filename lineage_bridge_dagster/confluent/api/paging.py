"""Lists that span several pages, followed by `metadata.next`."""

from __future__ import annotations

from typing import Any, TypeVar

import httpx

from lineage_bridge_dagster.confluent.api import trusted_hosts
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import ConfluentError, MalformedResponse, PartialResponse
from lineage_bridge_dagster.confluent.api.records import ApiRecord, parse_partial, parse_records
from lineage_bridge_dagster.confluent.api.session import ConfluentSession, Params

PAGE_SIZE = 100
"""The largest page of the control, Tableflow and Flink APIs (default 10)."""
MAX_PAGES = 10_000
"""More than any organization has; bounds a discovery against a server that never ends its list."""

R = TypeVar("R", bound=ApiRecord)


def list_records(
    session: ConfluentSession,
    record: type[R],
    url: httpx.URL,
    access: Access,
    params: Params | None = None,
    *,
    page_size: int | None = PAGE_SIZE,
) -> list[R]:
    """Read all pages of a list as records.

    Raises:
        PartialResponse: a later page failed, or some items are malformed; it carries the other items.
        ConfluentError: nothing could be read.
    """
    try:
        items = list_items(session, url, access, params, page_size=page_size)
    except PartialResponse as partial:
        raise parse_partial(record, partial, url.path) from partial
    return parse_records(record, items, url.path)


def list_control(session: ConfluentSession, record: type[R], environment: str = "") -> list[R]:
    """Read a list of the control plane as `list_records` does; of one environment if it is given."""
    access = Access("confluent_cloud", (environment,) if environment else ())
    params = {"environment": environment} if environment else None
    return list_records(session, record, session.control_url(record.list_path), access, params)


def list_items(
    session: ConfluentSession,
    url: httpx.URL,
    access: Access,
    params: Params | None = None,
    *,
    page_size: int | None = PAGE_SIZE,
) -> list[Any]:
    """Read all items of a list; a null, empty or absent `next` of its `metadata` ends it.

    Args:
        params: query parameters, sent with every page.
        page_size: None omits the parameter, for APIs without paging.

    Raises:
        PartialResponse: a page after the first failed; it carries the items before it.
        ConfluentError: the first page failed.
    """
    query: dict[str, str | int] = dict(params or {})
    if page_size is not None:
        query["page_size"] = page_size
    page_url = url.copy_merge_params(query) if query else url
    seen = {_identity(page_url)}
    items: list[Any] = []
    try:
        while True:
            body = session.get(page_url, access)
            items += _data_of(body, page_url)
            next_page = _next_of(body, page_url)
            if not next_page:
                return items
            page_url = _next_url(next_page, page_url, session.base)
            # A next page that names only its token keeps the filters of the first.
            missing = {name: value for name, value in query.items() if name not in page_url.params}
            if missing:
                page_url = page_url.copy_merge_params(missing)
            identity = _identity(page_url)
            if identity in seen:
                raise MalformedResponse(
                    f"{access.name}: {page_url.path} pages in a circle: metadata.next repeats.",
                    hint="The items read so far are used; try again later.",
                )
            seen.add(identity)
            if len(seen) > MAX_PAGES:
                raise MalformedResponse(
                    f"{access.name}: {page_url.path} has more than {MAX_PAGES} pages.",
                    hint="Restrict the discovery to some environments or clusters.",
                )
    except ConfluentError as error:
        if not items:
            raise
        raise PartialResponse(items, error) from error


def _next_url(text: str, current: httpx.URL, configured: httpx.URL) -> httpx.URL:
    try:
        url = current.join(text)
    except (httpx.InvalidURL, ValueError) as error:
        raise MalformedResponse(
            f"{current.path}: metadata.next is not a URL: {text[:200]!r}.", hint="Try again later."
        ) from error
    same_origin = (url.scheme, url.host, url.port) == (current.scheme, current.host, current.port)
    if same_origin and not url.userinfo:
        return url
    return trusted_hosts.trusted_url(str(url), configured, field=f"metadata.next of {current.path}")


def _identity(url: httpx.URL) -> str:
    """Identify a page by its token, else by its URL."""
    return url.params.get("page_token") or str(url)


def _data_of(body: Any, url: httpx.URL) -> list[Any]:
    if not isinstance(body, dict):
        raise MalformedResponse(
            f"{url.path} returned {type(body).__name__}, not an object with `data`.", hint="Try again later."
        )
    data = body.get("data")
    # An empty list of a service in Go may be null.
    if data is None and "data" in body and body.get("metadata"):
        return []
    if not isinstance(data, list):
        raise MalformedResponse(
            f"{url.path}: `data` is {type(data).__name__ if 'data' in body else 'absent'}, not a list.",
            hint="Try again later.",
        )
    return data


def _next_of(body: dict[str, Any], url: httpx.URL) -> str:
    # Every list has it, by the OpenAPI documents: without it, there may be another page.
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        raise MalformedResponse(
            f"{url.path}: `metadata` is {type(metadata).__name__}, not an object.", hint="Try again later."
        )
    next_page = metadata.get("next")
    if not isinstance(next_page, str | None):
        raise MalformedResponse(
            f"{url.path}: `metadata.next` is {type(next_page).__name__}, not a URL.", hint="Try again later."
        )
    return (next_page or "").strip()
