"""HTTP answers that are no answer -> errors that name the plane, the variable and the role. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import httpx

from lineage_bridge_dagster.config.settings import PREFIX, Credential, Plane
from lineage_bridge_dagster.confluent.api.errors import (
    ROLES,
    ConfluentError,
    Forbidden,
    MalformedAnswer,
    MissingCredential,
    NotFound,
    RateLimited,
    RequestRefused,
    ServerError,
    Unauthorized,
    Unreachable,
)
from lineage_bridge_dagster.lineage.redaction import redact_text

#: What a person calls each plane.
PLANE_NAMES: dict[str, str] = {
    "confluent_cloud": "Confluent Cloud",
    "kafka": "Kafka cluster",
    "schema_registry": "Schema Registry",
    "flink": "Flink region",
    "ksqldb": "ksqlDB cluster",
    "tableflow": "Tableflow",
}
_MAX_DETAIL = 300
_NOT_WORD = re.compile(r"[^A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class Access:
    """Which key a request is made with: the plane and, most specific first, what its key may be named for.

    `Access("kafka", ("lkc-abc123", "env-1"))` looks for LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123, then
    ..._ENV_1, then LINEAGE_BRIDGE_KAFKA_API_KEY.
    """

    plane: Plane
    qualifiers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For people: `Kafka cluster lkc-abc123`."""
        return " ".join((PLANE_NAMES[self.plane], *self.qualifiers[:1]))

    @property
    def variable(self) -> str:
        """The environment variable of the most specific key; a Cloud key is one for all by nature."""
        if self.plane == "confluent_cloud":
            return f"{PREFIX}CONFLUENT_CLOUD_API_KEY"
        return "_".join((f"{PREFIX}{self.plane.upper()}_API_KEY", *(_suffix(q) for q in self.qualifiers[:1])))

    @property
    def variables(self) -> str:
        """Which variables would do, and that each needs its secret."""
        general = f"{PREFIX}{self.plane.upper()}_API_KEY"
        either = self.variable if self.variable == general else f"{self.variable} (or {general} for all)"
        return f"{either} and its ..._SECRET"


def _suffix(qualifier: str) -> str:
    return _NOT_WORD.sub("_", qualifier.upper())


def missing(access: Access) -> MissingCredential:
    """The error for a plane without a key."""
    return MissingCredential(f"No key for {access.name}.", hint=f"Set {access.variables}.")


def failure_of(response: httpx.Response, access: Access, credential: Credential | None) -> ConfluentError:
    """The error that a response of status 300 or more stands for."""
    status = response.status_code
    what = f"{access.name}: {response.request.method} {response.request.url.path} answered {status}"
    detail = detail_of(response, credential)
    message = f"{what}: {detail}" if detail else f"{what}."
    variable = (credential.variable if credential else "") or access.variable
    if 300 <= status < 400:
        return MalformedAnswer(
            f"{what}, a redirect; no key is sent after it.",
            hint="Set LINEAGE_BRIDGE_CONFLUENT_API_URL to the address that answers itself.",
            status=status,
        )
    if status == 401:
        return Unauthorized(
            message,
            hint=f"The key in {variable} is wrong, was revoked, or belongs to another plane: "
            f"set {access.variables} for the {access.name}.",
            status=status,
        )
    if status == 403:
        return Forbidden(
            message, hint=f"Grant the owner of the key in {variable} {ROLES[access.plane]}.", status=status
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
        return ServerError(
            message, hint="Confluent's side failed; it is asked again next time.", status=status
        )
    return RequestRefused(
        message, hint="The request was not accepted as it is; see the detail.", status=status
    )


def unreachable(access: Access, request: httpx.Request, error: httpx.TransportError) -> Unreachable:
    """The error for a request that got no answer."""
    where = f"{access.name}: {request.method} {request.url.host}{request.url.path}"
    if isinstance(error, httpx.TimeoutException):
        return Unreachable(
            f"{where} did not answer in time ({type(error).__name__}).",
            hint="Check the network, or raise LINEAGE_BRIDGE_CONFLUENT_TIMEOUT_SECONDS.",
        )
    return Unreachable(
        f"{where} could not be reached: {str(error)[:_MAX_DETAIL] or type(error).__name__}",
        hint="Check the network (a private cluster is reachable from its own network alone) and the address.",
    )


def detail_of(response: httpx.Response, credential: Credential | None) -> str:
    """What the answer says of its failure, on one line, without the key's secret.

    Three shapes: `{"errors": [{"detail"}]}` of the control plane, `{"error": {"message"}}` of Connect,
    `{"error_code", "message"}` of Kafka REST, Schema Registry and ksqlDB.
    """
    try:
        body = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        return ""
    text = ""
    if isinstance(body, dict):
        errors = body.get("errors")
        error = body.get("error")
        if isinstance(errors, list) and errors and isinstance(errors[0], dict):
            text = str(errors[0].get("detail") or errors[0].get("title") or "")
        elif isinstance(error, dict):
            text = str(error.get("message") or "")
        else:
            text = str(body.get("message") or "")
    text = " ".join(text.split())
    # Before it is cut: half a secret would not be found.
    if credential is not None and (secret := credential.secret.get_secret_value()):
        text = text.replace(secret, "***")
    return redact_text(text)[:_MAX_DETAIL]
