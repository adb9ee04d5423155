"""Keeps secrets out of what AWS's and Azure's clients log at DEBUG: requests, signatures and answers."""

from __future__ import annotations

import logging
import re

#: The loggers of requests, with the parameters and headers that hold a secret.
_REQUESTS = {
    "botocore.auth": "x-amz-security-token",
    "botocore.endpoint": "x-amz-security-token",
    "botocore.hooks": "x-amz-security-token",
    "urllib3.connectionpool": "sig|x-amz-security-token|x-amz-signature",
}
#: A header or a parameter with its value, which is quoted or ends before a space or `&`.
_PARAMETER = r"""(\b(?:{names})\b["']?\s*[:=]\s*b?)(?:"[^"]*"|'[^']*'|[^\s&,"']+)"""
#: Marks of bodies with secrets: credentials, and tables of Glue, whose parameters and comments may hold any.
_BODY = re.compile("SecretString|SecretBinary|SecretAccessKey|SessionToken|TableInput|StorageDescriptor")


class _HideParameters(logging.Filter):
    def __init__(self, names: str) -> None:
        super().__init__()
        self._pattern = re.compile(_PARAMETER.replace("{names}", names), re.IGNORECASE)

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        hidden = self._pattern.sub(r"\1***", text)
        if hidden != text:
            record.msg, record.args = hidden, ()
        return True


class _HideBodies(logging.Filter):
    """A body is bytes of JSON or XML, in any encoding of Python's, so all of it is hidden."""

    def filter(self, record: logging.LogRecord) -> bool:
        if _BODY.search(record.getMessage()):
            record.msg, record.args = "Body: *** (it may hold a secret)", ()
        return True


_FILTERS: tuple[tuple[str, logging.Filter], ...] = (
    *((name, _HideParameters(names)) for name, names in _REQUESTS.items()),
    *((name, _HideBodies()) for name in ("botocore.endpoint", "botocore.hooks", "botocore.parsers")),
)


def hide_secrets_in_logs() -> None:
    """Hide secrets in the records of these clients, from now on."""
    for name, each in _FILTERS:
        # A filter that is there already is not added again.
        logging.getLogger(name).addFilter(each)
