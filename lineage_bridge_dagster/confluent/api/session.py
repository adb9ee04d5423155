"""The one HTTP session that every Confluent client asks through.

It knows keys, retries, pages and hosts; it knows nothing of what is asked. Keys are sent by HTTP Basic, per
plane, to the vendor's domain or the configured host alone; redirects are never followed.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import tenacity
from tenacity.stop import stop_base

from lineage_bridge_dagster.config.settings import ConfluentSettings, Credential
from lineage_bridge_dagster.confluent.api import retry_after, trusted_hosts
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    MalformedAnswer,
    PartialAnswer,
    RateLimited,
    ServerError,
)
from lineage_bridge_dagster.confluent.api.http_errors import (
    Access,
    failure_of,
    missing,
    unreachable,
)

log = logging.getLogger(__name__)

PAGE_SIZE = 100
"""The largest page of the control, Tableflow and Flink APIs (default 10)."""
MAX_PAGES = 10_000
"""More than any organization has; a server that never ends must not keep a discovery."""

Params = Mapping[str, str | int]
T = TypeVar("T")
R = TypeVar("R")


class _Retry(Exception):
    """A failure that may pass; `wait` is what the server asked for, in seconds."""

    def __init__(self, error: ConfluentError, wait: float | None) -> None:
        super().__init__(error.message)
        self.error = error
        self.wait = wait


class ConfluentSession:
    """Asks Confluent's APIs; a context manager, safe to share between threads.

    Args:
        settings: base URL, keys, timeouts, bounds.
        transport: exchanges the HTTP transport.
        sleep: waits between tries, in seconds.
        clock: the time against which an HTTP date in `Retry-After` is read.
    """

    def __init__(
        self,
        settings: ConfluentSettings,
        transport: httpx.BaseTransport | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.settings = settings
        self.base = httpx.URL(settings.api_url.rstrip("/"))
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._in_flight = threading.BoundedSemaphore(settings.max_concurrency)
        self._client = httpx.Client(
            transport=transport,
            timeout=httpx.Timeout(settings.timeout_seconds, connect=min(10.0, settings.timeout_seconds)),
            follow_redirects=False,
            headers={"Accept": "application/json", "User-Agent": "lineage-bridge-dagster"},
            limits=httpx.Limits(
                max_connections=settings.max_concurrency, max_keepalive_connections=settings.max_concurrency
            ),
            # A proxy of the environment cannot reach this machine's own loopback.
            trust_env=not trusted_hosts.is_loopback(self.base.host),
        )
        # A request that waits for its next try keeps a thread but no place in flight.
        self._pool = ThreadPoolExecutor(
            max_workers=2 * settings.max_concurrency, thread_name_prefix="confluent"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the threads and the connections."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._client.close()

    @property
    def requests(self) -> int:
        """Requests sent so far, tries included."""
        with self._lock:
            return self._counts.total()

    @property
    def requests_by_plane(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)

    def map(self, call: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """The results of a call on each item, in order, run at once.

        Not to be nested: a call that itself waits for this pool could wait forever.

        Raises:
            Exception: the first one that a call raised.
        """
        return list(self._pool.map(call, items))

    def control_url(self, path: str) -> httpx.URL:
        """A path of the control plane (and of Tableflow's) as a URL."""
        return join(self.base, path)

    def data_url(self, endpoint: str, path: str, *, field: str) -> httpx.URL:
        """A path below an endpoint that an answer named.

        Raises:
            UntrustedAddress: no key may be sent there.
        """
        return join(trusted_hosts.trusted_url(endpoint, self.base, field=field), path)

    def get(self, url: httpx.URL, access: Access, params: Params | None = None) -> Any:
        """The JSON of one GET, tried again on 429, 5xx and no answer.

        Raises:
            ConfluentError: no answer, or one that is not JSON.
        """
        if params:
            url = url.copy_merge_params(dict(params))
        return self._send("GET", url, access, None, repeatable=True)

    def post_query(
        self,
        url: httpx.URL,
        access: Access,
        body: Any,
        *,
        repeatable: bool = False,
        media_type: str = "application/json",
    ) -> Any:
        """The JSON of one POST, sent and wanted as this media type.

        Tried again only if it is told to be read-only (`repeatable`).
        """
        return self._send("POST", url, access, body, repeatable=repeatable, media_type=media_type)

    def pages(
        self,
        url: httpx.URL,
        access: Access,
        params: Params | None = None,
        *,
        page_size: int | None = PAGE_SIZE,
    ) -> list[Any]:
        """All items of a list that pages by `metadata.next`.

        Null, empty or absent `next` ends it. `page_size` None sends none, for APIs that have no paging.

        Raises:
            PartialAnswer: a page after the first could not be read; it carries the items before it.
            ConfluentError: the first page could not be read.
        """
        query: dict[str, str | int] = dict(params or {})
        if page_size is not None:
            query["page_size"] = page_size
        page_url = url.copy_merge_params(query) if query else url
        seen = {_identity(page_url)}
        items: list[Any] = []
        try:
            while True:
                body = self.get(page_url, access)
                items += _data_of(body, page_url)
                following = _next_of(body, page_url)
                if not following:
                    return items
                page_url = self._next_url(following, page_url)
                # A next page that names its token alone is still one of what was asked for.
                unsaid = {name: value for name, value in query.items() if name not in page_url.params}
                if unsaid:
                    page_url = page_url.copy_merge_params(unsaid)
                identity = _identity(page_url)
                if identity in seen:
                    raise MalformedAnswer(
                        f"{access.name}: {page_url.path} pages in a circle: metadata.next repeats.",
                        hint="What was read so far is used; ask again later.",
                    )
                seen.add(identity)
                if len(seen) > MAX_PAGES:
                    raise MalformedAnswer(
                        f"{access.name}: {page_url.path} has more than {MAX_PAGES} pages.",
                        hint="Name environments or clusters to read, to narrow it.",
                    )
        except ConfluentError as error:
            if not items:
                raise
            raise PartialAnswer(items, error) from error

    def credential(self, access: Access) -> Credential:
        """The key for a request.

        Raises:
            MissingCredential: none is configured.
        """
        found = self.settings.credential(access.plane, *access.qualifiers)
        if found is None:
            raise missing(access)
        return found

    def _next_url(self, text: str, current: httpx.URL) -> httpx.URL:
        try:
            url = current.join(text)
        except (httpx.InvalidURL, ValueError) as error:
            raise MalformedAnswer(
                f"{current.path}: metadata.next is not a URL: {text[:200]!r}.", hint="Ask again later."
            ) from error
        own = (url.scheme, url.host, url.port) == (current.scheme, current.host, current.port)
        if own and not url.userinfo:
            return url
        return trusted_hosts.trusted_url(str(url), self.base, field=f"metadata.next of {current.path}")

    def _send(
        self,
        method: str,
        url: httpx.URL,
        access: Access,
        body: Any,
        *,
        repeatable: bool,
        media_type: str = "application/json",
    ) -> Any:
        credential = self.credential(access)
        attempts = self.settings.max_attempts if repeatable else 1
        retrying = tenacity.Retrying(
            stop=tenacity.stop_any(tenacity.stop_after_attempt(attempts), _WaitedEnough()),
            wait=_wait,
            retry=tenacity.retry_if_exception_type(_Retry),
            sleep=self._sleep,
            before_sleep=_log_retry,
            reraise=True,
        )
        try:
            response: httpx.Response = retrying(self._try, method, url, access, credential, body, media_type)
        except _Retry as last:
            raise last.error from last.error.__cause__
        try:
            return response.json()
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise MalformedAnswer(
                f"{access.name}: {url.path} did not answer JSON but "
                f"{response.headers.get('Content-Type', 'something without a type')}.",
                hint=f"Check that {url.host} is Confluent and no proxy or login page stands before it.",
            ) from error

    def _try(
        self,
        method: str,
        url: httpx.URL,
        access: Access,
        credential: Credential,
        body: Any,
        media_type: str,
    ) -> httpx.Response:
        auth = httpx.BasicAuth(credential.key, credential.secret.get_secret_value())
        headers = {"Accept": media_type, **({"Content-Type": media_type} if body is not None else {})}
        request = self._client.build_request(method, url, json=body, headers=headers)
        started = time.monotonic()
        with self._in_flight:
            with self._lock:
                self._counts[access.plane] += 1
            try:
                response = self._client.send(request, auth=auth)
            except httpx.TransportError as error:
                failure = unreachable(access, request, error)
                failure.__cause__ = error
                raise _Retry(failure, None) from error
            except httpx.HTTPError as error:
                raise MalformedAnswer(
                    f"{access.name}: {url.path} could not be read: {type(error).__name__}.",
                    hint="Check that no proxy stands before it.",
                ) from error
        log.debug(
            "%s %s %s%s -> %s in %.0f ms",
            access.plane,
            method,
            url.host,
            url.path,
            response.status_code,
            (time.monotonic() - started) * 1000,
        )
        if response.status_code < 300:
            return response
        refusal = failure_of(response, access, credential)
        if isinstance(refusal, RateLimited | ServerError):
            raise _Retry(
                refusal, retry_after.asked_wait(response.status_code, response.headers, self._clock())
            )
        raise refusal


def join(base: httpx.URL, path: str) -> httpx.URL:
    """A path below a base URL; the base's own path is kept, the path's percent-encoding too."""
    stem = base.raw_path.partition(b"?")[0].rstrip(b"/")
    return base.copy_with(raw_path=stem + path.encode("ascii"))


def _wait(state: tenacity.RetryCallState) -> float:
    """What the server asked for, else exponential with full jitter: 0-1, 0-2, 0-4 ... 0-30 s."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Retry) and error.wait is not None:
        return error.wait
    return tenacity.wait_random_exponential(multiplier=1, max=30)(state)


class _WaitedEnough(stop_base):
    """Whether the waits of one request add up to the most that it may cost."""

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        return retry_state.idle_for >= retry_after.MAX_TOTAL_WAIT


def _log_retry(state: tenacity.RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    log.debug("try %d failed, next in %.1f s: %s", state.attempt_number, state.upcoming_sleep, error)


def _identity(url: httpx.URL) -> str:
    """What tells two pages apart: the page token, else the whole URL."""
    return url.params.get("page_token") or str(url)


def _data_of(body: Any, url: httpx.URL) -> list[Any]:
    if not isinstance(body, dict):
        raise MalformedAnswer(
            f"{url.path} answered {type(body).__name__}, not an object with `data`.", hint="Ask again later."
        )
    data = body.get("data")
    # An empty list may be sent as null.
    if data is None and "data" in body:
        return []
    if not isinstance(data, list):
        raise MalformedAnswer(
            f"{url.path}: `data` is {type(data).__name__ if 'data' in body else 'absent'}, not a list.",
            hint="Ask again later.",
        )
    return data


def _next_of(body: dict[str, Any], url: httpx.URL) -> str:
    metadata = body.get("metadata")
    following = metadata.get("next") if isinstance(metadata, dict) else None
    if following is None:
        return ""
    if not isinstance(following, str):
        raise MalformedAnswer(
            f"{url.path}: `metadata.next` is {type(following).__name__}, not a URL.", hint="Ask again later."
        )
    return following.strip()


__all__ = ["PAGE_SIZE", "Access", "ConfluentSession", "join"]
