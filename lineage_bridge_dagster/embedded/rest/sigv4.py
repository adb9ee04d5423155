"""Verifies AWS Signature Version 4 of a request, as an AWS endpoint does. Pure.

Messages are those that AWS sends, so that a client shows what its user would see.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

#: AWS accepts a signature for five minutes before and after its time.
MAX_SKEW = timedelta(minutes=5)

_TIME = "%Y%m%dT%H%M%SZ"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256\s+Credential=(?P<key>[^/,\s]+)/(?P<date>\d{8})/(?P<region>[^/,]+)/(?P<service>[^/,]+)"
    r"/aws4_request,\s*SignedHeaders=(?P<headers>[^,\s]+),\s*Signature=(?P<signature>[0-9a-f]{64})"
)


class SignatureRejected(Exception):
    """The request is not signed as it must be; `code` is AWS's `x-amzn-ErrorType`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request as received: path and query undecoded, headers by name in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


def verify(
    request: SignedRequest, *, secrets: Mapping[str, str], region: str, service: str, now: datetime
) -> str:
    """Verify a request's signature, and return the access key that it was signed with.

    `secrets` has the secret of each access key; service, region and time are those of the endpoint.

    Raises:
        SignatureRejected: It has none, for another service or region, of another time, or of another request.
    """
    header = request.headers.get("authorization", "")
    if not header:
        raise SignatureRejected("MissingAuthenticationTokenException", "Missing Authentication Token")
    match = _AUTHORIZATION.fullmatch(header.strip())
    if match is None:
        raise SignatureRejected(
            "IncompleteSignatureException",
            "Authorization header requires 'Credential' parameter. Authorization header requires 'Signature' "
            "parameter. Authorization header requires 'SignedHeaders' parameter.",
        )
    if match["service"] != service:
        raise SignatureRejected(
            "InvalidSignatureException", f"Credential should be scoped to correct service: '{service}'."
        )
    if match["region"] != region:
        raise SignatureRejected(
            "InvalidSignatureException",
            f"Credential should be scoped to a valid region, not '{match['region']}'.",
        )
    signed_at = _checked_time(request, match["date"], now)
    secret = secrets.get(match["key"])
    if secret is None:
        raise SignatureRejected(
            "UnrecognizedClientException", "The security token included in the request is invalid."
        )
    digest = hashlib.sha256(request.body)
    # Iceberg's Java client writes the header in Base64, and signs the hash in hexadecimal as others do.
    accepted = (None, digest.hexdigest(), base64.b64encode(digest.digest()).decode())
    if request.headers.get("x-amz-content-sha256") not in accepted:
        raise _mismatch()
    expected = _signature(
        request, match["headers"].split(";"), Credentials(match["key"], secret), match, signed_at
    )
    if not hmac.compare_digest(expected, match["signature"]):
        raise _mismatch()
    return match["key"]


def _checked_time(request: SignedRequest, date: str, now: datetime) -> str:
    text = request.headers.get("x-amz-date", "")
    try:
        signed_at = datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError as error:
        raise SignatureRejected(
            "IncompleteSignatureException",
            "Authorization header requires existence of the 'X-Amz-Date' header.",
        ) from error
    if not text.startswith(date):
        raise SignatureRejected(
            "InvalidSignatureException",
            f"Date in Credential scope does not match X-Amz-Date: {date} != {text[:8]}",
        )
    earliest, latest = now - MAX_SKEW, now + MAX_SKEW
    if signed_at < earliest:
        raise SignatureRejected(
            "InvalidSignatureException",
            f"Signature expired: {text} is now earlier than {earliest:{_TIME}} ({now:{_TIME}} - 5 min.)",
        )
    if signed_at > latest:
        raise SignatureRejected(
            "InvalidSignatureException",
            f"Signature not yet current: {text} is still later than {latest:{_TIME}} "
            f"({now:{_TIME}} + 5 min.)",
        )
    return text


def _signature(
    request: SignedRequest,
    signed_headers: list[str],
    credentials: Credentials,
    scope: re.Match[str],
    signed_at: str,
) -> str:
    """The signature that the request must have, computed by botocore."""
    headers = {name: request.headers.get(name, "") for name in signed_headers}
    host = request.headers.get("host", "")
    expected = AWSRequest(
        request.method,
        f"http://{host}{request.path}",
        headers=headers,
        data=request.body,
        params=parse_qsl(request.query, keep_blank_values=True),  # type: ignore[arg-type]
    )
    expected.context["timestamp"] = signed_at
    auth = SigV4Auth(credentials, scope["service"], scope["region"])
    # Its last line is the hash of the body, for which botocore takes the header as it is.
    head, _, _ = auth.canonical_request(expected).rpartition("\n")
    canonical = f"{head}\n{hashlib.sha256(request.body).hexdigest()}"
    return str(auth.signature(auth.string_to_sign(expected, canonical), expected))


def _mismatch() -> SignatureRejected:
    return SignatureRejected(
        "InvalidSignatureException",
        "The request signature we calculated does not match the signature you provided. Check your AWS "
        "Secret Access Key and signing method. Consult the service documentation for details.",
    )
