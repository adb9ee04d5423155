"""OAuth2 client credentials, as Tableflow's catalog takes them: issues tokens and verifies them.

A token is a statement of client, scope and expiry, signed with a key that ends with this process.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

#: Seconds for which a token is valid.
LIFETIME = 3600


class TokenRejected(Exception):
    """A request for a token, or a token, is refused.

    Attributes:
        status: HTTP status of the response.
        error: OAuth2's error code (RFC 6749 section 5.2, RFC 6750 section 3.1).
    """

    def __init__(self, status: int, error: str, message: str) -> None:
        super().__init__(f"{error}: {message}")
        self.status = status
        self.error = error
        self.message = message


@dataclass(frozen=True, slots=True)
class Token:
    """A verified token; its scopes are separated by spaces."""

    client: str
    scope: str


def client_of(authorization: str) -> dict[str, str]:
    """The client id and secret in a Basic header, as form fields (RFC 6749 section 2.3.1); none in others."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return {}
    try:
        client, _, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        return {}
    return {"client_id": unquote_plus(client), "client_secret": unquote_plus(secret)}


@dataclass(slots=True)
class TokenIssuer:
    """Issues bearer tokens of one scope, for some seconds, to clients with these secrets; verifies them."""

    clients: Mapping[str, str]
    scope: str = "catalog"
    lifetime: int = LIFETIME
    now: Callable[[], float] = time.time
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def issue(self, form: Mapping[str, str]) -> dict[str, object]:
        """Answer a request for a token: `grant_type`, `client_id`, `client_secret` and `scope` of its form.

        Returns:
            The JSON of the response (RFC 6749 section 5.1).

        Raises:
            TokenRejected: wrong credentials, grant or scope.
        """
        if form.get("grant_type") != "client_credentials":
            raise TokenRejected(400, "unsupported_grant_type", "Only client_credentials is supported.")
        client, secret = form.get("client_id", ""), form.get("client_secret", "")
        expected = self.clients.get(client)
        if expected is None or not hmac.compare_digest(expected, secret):
            raise TokenRejected(401, "invalid_client", "The client id or the client secret is wrong.")
        scope = form.get("scope", "")
        if scope != self.scope:
            raise TokenRejected(400, "invalid_scope", f"The scope must be {self.scope}, not {scope!r}.")
        claims = {"client": client, "scope": scope, "expires": self.now() + self.lifetime}
        payload = base64.urlsafe_b64encode(json.dumps(claims).encode())
        return {
            "access_token": f"{payload.decode()}.{self._signature(payload)}",
            "token_type": "bearer",
            "expires_in": self.lifetime,
            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "scope": scope,
        }

    def verify(self, authorization: str, *, expired: bool = False) -> Token:
        """Verify an Authorization header; an `expired` token is one whatever its time.

        Raises:
            TokenRejected: no bearer token, one of another issuer, or an expired one.
        """
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise TokenRejected(401, "invalid_request", "The request has no bearer token.")
        payload, _, signature = token.strip().partition(".")
        if not hmac.compare_digest(self._signature(payload.encode()), signature):
            raise TokenRejected(401, "invalid_token", "The token was not issued by this server.")
        claims = json.loads(base64.urlsafe_b64decode(payload))
        if expired or claims["expires"] <= self.now():
            raise TokenRejected(401, "invalid_token", "The token has expired.")
        return Token(claims["client"], claims["scope"])

    def _signature(self, payload: bytes) -> str:
        return hmac.new(self._key, payload, hashlib.sha256).hexdigest()
