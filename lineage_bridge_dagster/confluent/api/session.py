"""The HTTP session shared by all Confluent clients: credentials, retries and trusted hosts.

Keys are sent by HTTP Basic, one per plane, and only to the vendor's domain or the configured host. Redirects
are never followed.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, TypeVar

import httpx
import tenacity
from tenacity.stop import stop_base

from lineage_bridge_dagster.config.addresses import is_loopback
from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.config.request_counts import TIMEOUT, UNREACHABLE, current_counts
from lineage_bridge_dagster.confluent.api import trusted_hosts
from lineage_bridge_dagster.confluent.api.access import PLANE_NAMES, Access
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    MalformedResponse,
    RateLimited,
    ServerError,
    Unauthorized,
)
from lineage_bridge_dagster.confluent.api.http_errors import error_of_response, error_of_transport
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.json_text import json_value

TOO_MANY_REQUESTS = 429

#: Longest single wait that a server can request, in seconds.
MAX_WAIT = 60.0
#: Longest total wait for one request, in seconds.
MAX_TOTAL_WAIT = 180.0


def requested_wait(status: int, headers: httpx.Headers, now: datetime) -> float | None:
    """Seconds that the server requests to wait, at most `MAX_WAIT`; None without a usable header.

    `Retry-After` is seconds or an HTTP date (RFC 9110, 10.2.3). `X-RateLimit-Reset` is relative seconds, as
    Confluent's OpenAPI documents declare it. Every response carries it, so it counts for a 429 only.
    """
    for name in ("Retry-After", *(("X-RateLimit-Reset",) if status == TOO_MANY_REQUESTS else ())):
        text = headers.get(name, "").strip()
        if not text:
            continue
        seconds = _seconds(text)
        if seconds is None and name == "Retry-After":
            seconds = _until(text, now)
        if seconds is not None:
            return min(max(seconds, 0.0), MAX_WAIT)
    return None


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _until(text: str, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - now).total_seconds()


log = logging.getLogger(__name__)

Params = Mapping[str, str | int]
T = TypeVar("T")
R = TypeVar("R")


class _Transient(Exception):
    """A failure worth a retry; `wait` is the delay that the server requested, in seconds."""

    def __init__(self, error: ConfluentError, wait: float | None) -> None:
        super().__init__(error.message)
        self.error = error
        self.wait = wait


class ConfluentSession(AbstractContextManager["ConfluentSession"]):
    """Sends requests to Confluent's APIs; a context manager, safe to share between threads.

    Args:
        renew: reads the settings again, for their keys; called once for each key that is refused, so that one
            that was rotated meanwhile is used.
        sleep: waits between attempts, in seconds.
    """

    def __init__(
        self,
        settings: ConfluentSettings,
        transport: httpx.BaseTransport | None = None,
        *,
        renew: Callable[[], ConfluentSettings] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.settings = settings
        self.base = httpx.URL(settings.api_url.rstrip("/"))
        self._renew, self._refused = renew, set[tuple[str, str]]()
        self._renewing = threading.Lock()
        self._sleep = sleep
        self._lock = threading.Lock()
        self._requests: Counter[str] = Counter()
        self._counts = current_counts()
        self._in_flight = threading.BoundedSemaphore(settings.max_concurrency)
        try:
            self._client = httpx.Client(
                transport=transport,
                timeout=httpx.Timeout(settings.timeout_seconds, connect=min(10.0, settings.timeout_seconds)),
                follow_redirects=False,
                headers={"Accept": "application/json", "User-Agent": "lineage-bridge-dagster"},
                limits=httpx.Limits(
                    max_connections=settings.max_concurrency,
                    max_keepalive_connections=settings.max_concurrency,
                ),
                # A proxy from the environment cannot reach this machine's loopback.
                trust_env=not is_loopback(self.base.host),
            )
        except (ValueError, httpx.InvalidURL):
            # Its text may show the password.
            raise ConfigurationError(
                "The proxy that the environment names has no address that can be used.",
                hint="Correct HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, as in HTTPS_PROXY=http://proxy:3128.",
            ) from None
        # A request that waits for its next attempt occupies a thread, but no slot in flight.
        self._pool = ThreadPoolExecutor(
            max_workers=2 * settings.max_concurrency, thread_name_prefix="confluent"
        )

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the threads and close the connections."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._client.close()

    @property
    def requests(self) -> int:
        """Number of requests sent so far, retries included."""
        with self._lock:
            return self._requests.total()

    def requests_for(self, purpose: str) -> int:
        """Number of those that were sent with `count_as=purpose`."""
        with self._lock:
            return self._requests[purpose]

    def map(self, call: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Run a call on each item concurrently and return the results in order.

        Do not nest: a call that itself waits for this pool may wait forever.

        Raises:
            Exception: the first exception that a call raised.
        """
        return list(self._pool.map(call, items))

    def control_url(self, path: str) -> httpx.URL:
        """Build the URL of a path of the control plane, which serves Tableflow too."""
        return join_path(self.base, path)

    def data_url(self, endpoint: str, path: str, *, field: str) -> httpx.URL:
        """Build the URL of a path below an endpoint that a response named.

        Raises:
            UntrustedAddress: the endpoint must not receive a key.
        """
        return join_path(trusted_hosts.trusted_url(endpoint, self.base, field=field), path)

    def get(self, url: httpx.URL, access: Access, params: Params | None = None, *, count_as: str = "") -> Any:
        """Return the JSON of a GET; retries on 429, 5xx and transport failures.

        Args:
            count_as: a purpose whose requests are counted apart too.

        Raises:
            ConfluentError: the request failed, or the response is not JSON.
        """
        if params:
            url = url.copy_merge_params(dict(params))
        return self._send("GET", url, access, None, count_as=count_as)

    def post_query(
        self,
        url: httpx.URL,
        access: Access,
        body: Any,
        *,
        media_type: str = "application/json",
    ) -> Any:
        """Return the JSON of a POST that only reads, and so may be sent again.

        Raises:
            ConfluentError: the request failed, or the response is not JSON.
        """
        return self._send("POST", url, access, body, media_type=media_type)

    def _send(
        self,
        method: str,
        url: httpx.URL,
        access: Access,
        body: Any,
        *,
        media_type: str = "application/json",
        count_as: str = "",
    ) -> Any:
        credential = access.credential(self.settings)
        rest = (body, media_type, count_as)
        try:
            return self._attempt(method, url, access, credential, rest)
        except Unauthorized:
            if (renewed := self._renewed(access, credential)) is None:
                raise
        return self._attempt(method, url, access, renewed, rest)

    def _renewed(self, access: Access, refused: Credential) -> Credential | None:
        """The key that takes the place of one that was refused; None if there is no other."""
        used = (refused.key, refused.secret.get_secret_value())
        with self._renewing:
            if self._renew is not None and used not in self._refused:
                self._refused.add(used)
                try:
                    credentials = self._renew().credentials
                except LineageBridgeError as error:
                    log.warning("The keys could not be read again: %s", error)
                    return None
                self.settings = self.settings.model_copy(update={"credentials": credentials})
            found = self.settings.credential(access.plane, *access.qualifiers)
        return None if found is None or (found.key, found.secret) == (refused.key, refused.secret) else found

    def _attempt(
        self,
        method: str,
        url: httpx.URL,
        access: Access,
        credential: Credential,
        rest: tuple[Any, str, str],
    ) -> Any:
        attempts = tenacity.stop_after_attempt(self.settings.max_attempts)
        retrying = tenacity.Retrying(
            stop=tenacity.stop_any(attempts, _TotalWaitReached()),
            wait=_wait,
            retry=tenacity.retry_if_exception_type(_Transient),
            sleep=self._sleep,
            before_sleep=partial(self._note_retry, access),
            reraise=True,
        )
        try:
            response: httpx.Response = retrying(self._send_once, method, url, access, credential, *rest)
        except _Transient as last:
            raise last.error from last.error.__cause__
        try:
            found = json_value(response.content)
        except ValueError as error:
            content_type = response.headers.get("Content-Type", "content without a type")
            server = f"a {PLANE_NAMES[access.plane]}" if access.self_managed else "Confluent"
            raise MalformedResponse(
                f"{access.name}: {url.path} did not return JSON but {content_type}.",
                hint=f"Check that {url.host} is {server}, not a proxy or a login page.",
            ) from error
        if b"\\ud" in response.content or b"\\uD" in response.content:
            # JSON can escape half of a character, which nothing that follows could write.
            return json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
        return found

    def _send_once(
        self,
        method: str,
        url: httpx.URL,
        access: Access,
        credential: Credential,
        body: Any,
        media_type: str,
        count_as: str,
    ) -> httpx.Response:
        auth = httpx.BasicAuth(credential.key, credential.secret.get_secret_value())
        headers = {"Accept": media_type, **({"Content-Type": media_type} if body is not None else {})}
        if access.plane == "schema_registry":
            # Without it, Confluent Cloud leaves out a schema's type and GUID.
            headers["Confluent-Accept-Unknown-Properties"] = "true"
        request = self._client.build_request(method, url, json=body, headers=headers)
        started = time.monotonic()
        with self._in_flight:
            with self._lock:
                self._requests[count_as] += 1
            try:
                response = self._client.send(request, auth=auth)
            except httpx.TransportError as error:
                timed_out = isinstance(error, httpx.TimeoutException)
                self._counts.add(access.plane, TIMEOUT if timed_out else UNREACHABLE)
                unreachable = error_of_transport(access, request, error)
                unreachable.__cause__ = error
                raise _Transient(unreachable, None) from error
            except httpx.HTTPError as error:
                self._counts.add(access.plane, UNREACHABLE)
                raise MalformedResponse(
                    f"{access.name}: {url.path} could not be read: {type(error).__name__}.",
                    hint="Check for a proxy in between.",
                ) from error
        self._counts.add(access.plane, response.status_code)
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
        rejection = error_of_response(response, access, credential)
        if isinstance(rejection, RateLimited | ServerError):
            wait = requested_wait(response.status_code, response.headers, datetime.now(UTC))
            raise _Transient(rejection, wait)
        raise rejection

    def _note_retry(self, access: Access, state: tenacity.RetryCallState) -> None:
        self._counts.retry(access.plane)
        error = state.outcome.exception() if state.outcome else None
        log.debug("attempt %d failed, next in %.1f s: %s", state.attempt_number, state.upcoming_sleep, error)


def join_path(base: httpx.URL, path: str) -> httpx.URL:
    """Append a path to a base URL; keeps the base's own path and the percent-encoding of both."""
    stem = base.raw_path.partition(b"?")[0].rstrip(b"/")
    return base.copy_with(raw_path=stem + path.encode("ascii"))


def _wait(state: tenacity.RetryCallState) -> float:
    """The wait the server requested, else exponential with full jitter: 0-1, 0-2, 0-4 ... 0-30 s."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Transient) and error.wait is not None:
        return error.wait
    return tenacity.wait_random_exponential(multiplier=1, max=30)(state)


class _TotalWaitReached(stop_base):
    """Stops once the waits of one request add up to `MAX_TOTAL_WAIT`."""

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        return retry_state.idle_for >= MAX_TOTAL_WAIT
