"""HTTP error responses and transport failures as Confluent errors. Pure."""

from __future__ import annotations

import httpx

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.confluent.api.access import PLANE_NAMES, ROLES, Access
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    Forbidden,
    MalformedResponse,
    NotFound,
    RateLimited,
    RequestRejected,
    ServerError,
    Unauthorized,
    Unreachable,
)
from lineage_bridge_dagster.json_text import json_of
from lineage_bridge_dagster.redaction.redact import redact_text

_MAX_DETAIL = 300


def error_of_response(
    response: httpx.Response, access: Access, credential: Credential | None
) -> ConfluentError:
    """Map a response of status 300 or above to the error for its status."""
    status = response.status_code
    summary = f"{access.name}: {response.request.method} {response.request.url.path} returned {status}"
    detail = detail_of(response, credential)
    message = f"{summary}: {detail}" if detail else f"{summary}."
    variable = (credential.variable if credential else "") or access.variable
    host = response.request.url.host
    own = access.self_managed
    if 300 <= status < 400:
        address = f"the setting that names {host}" if own else "LINEAGE_BRIDGE_CONFLUENT_API_URL"
        return MalformedResponse(
            f"{summary}, a redirect; redirects are not followed, so that no key leaks.",
            hint=f"Set {address} to an address that does not redirect.",
            status=status,
        )
    if status == 401:
        reason = f"is not one of {host}" if own else "is wrong, was revoked, or belongs to another plane"
        # A server of one's own is asked without a key if none is set.
        unset = own and credential is not None and not credential.variable
        problem = f"{host} asks for a key" if unset else f"The key in {variable} {reason}"
        return Unauthorized(
            message, hint=f"{problem}: set {access.variables} for the {access.name}.", status=status
        )
    if status == 403:
        right = f"the right to read on {host}" if own else ROLES[access.plane]
        return Forbidden(message, hint=f"Grant the owner of the key in {variable} {right}.", status=status)
    if status in (404, 405) and response.content.lstrip().startswith(b"<"):
        return MalformedResponse(
            f"{summary} with a page.",
            hint=f"Check that {host} is a {PLANE_NAMES[access.plane]}, not a proxy."
            if own
            else f"Check for a proxy between here and {host}: Confluent's APIs answer no pages.",
            status=status,
        )
    if status in (404, 405):
        return NotFound(message, hint="It does not exist, or this cluster does not offer it.", status=status)
    if status == 429:
        return RateLimited(
            message,
            hint="Lower LINEAGE_BRIDGE_CONFLUENT_MAX_CONCURRENCY, or discover less often.",
            status=status,
        )
    if status >= 500:
        hint = (
            f"The server at {host} failed: see its log. The next run or discovery asks it again."
            if own
            else "The failure is on Confluent's side; the next discovery retries."
        )
        return ServerError(message, hint=hint, status=status)
    return RequestRejected(
        message, hint="The server rejected the request; see the detail in the message.", status=status
    )


def error_of_transport(access: Access, request: httpx.Request, error: httpx.TransportError) -> Unreachable:
    """Describe a request that got no response."""
    where = f"{access.name}: {request.method} {request.url.host}{request.url.path}"
    if isinstance(error, httpx.TimeoutException):
        return Unreachable(
            f"{where} timed out ({type(error).__name__}).",
            hint="Check the network, or raise LINEAGE_BRIDGE_CONFLUENT_TIMEOUT_SECONDS.",
        )
    return Unreachable(
        f"{where} could not be reached: {str(error)[:_MAX_DETAIL] or type(error).__name__}",
        hint="Check the address and the network; a private cluster is reachable only from its own network.",
    )


def detail_of(response: httpx.Response, credential: Credential | None) -> str:
    """Extract the error detail of a response on one line, without the key's secret.

    Three shapes: `{"errors": [{"detail"}]}` of the control plane, `{"error": {"message"}}` of Connect,
    `{"error_code", "message"}` of Kafka REST, Schema Registry and ksqlDB.
    """
    match json_of(response.content, dict):
        case {"errors": [{**first}, *_]}:
            text = str(first.get("detail") or first.get("title") or "")
        case {"error": {**body}} | {**body}:
            text = str(body.get("message") or "")
        case _:
            text = ""
    text = " ".join(text.split())
    # Mask before truncating: a secret cut in half would not be recognized.
    if credential is not None and (secret := credential.secret.get_secret_value()):
        text = text.replace(secret, "***")
    return redact_text(text)[:_MAX_DETAIL]
