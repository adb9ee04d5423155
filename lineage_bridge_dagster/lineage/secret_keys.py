"""Recognizing configuration keys that hold a secret, by the words in them."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

#: Words that make a key secret even inside another word (`dbpassword`).
_INSIDE = ("password", "passwd", "passphrase", "secret", "credential", "keyfile", "keystorefile", "jaas")
#: Words that make a key secret as a complete word.
_WORDS = frozenset(
    {
        "token",
        "pwd",
        "pass",
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "accountkey",
        "sharedkey",
        "sslkey",
        "pem",
    }
)
#: Words that make a key secret before `key`, unlike in `primary.key`, `message.key` or `routing.key`.
_SECRET_KEYS = frozenset(
    {
        "access",
        "account",
        "admin",
        "api",
        "app",
        "application",
        "auth",
        "client",
        "consumer",
        "encryption",
        "function",
        "functions",
        "hec",
        "hmac",
        "integration",
        "keystore",
        "license",
        "licence",
        "master",
        "private",
        "rsa",
        "sas",
        "service",
        "shared",
        "signing",
        "ssh",
        "ssl",
        "storage",
        "subscription",
    }
)
#: Last words of keys that describe a secret but do not hold one (`aws.credentials.provider.class`).
_DESCRIPTIVE = frozenset(
    {
        "algorithm",
        "alias",
        "class",
        "column",
        "columns",
        "converter",
        "count",
        "enable",
        "enabled",
        "endpoint",
        "expiry",
        "field",
        "fields",
        "format",
        "id",
        "interval",
        "length",
        "location",
        "max",
        "min",
        "mode",
        "ms",
        "path",
        "period",
        "policy",
        "provider",
        "size",
        "source",
        "timeout",
        "ttl",
        "type",
        "uri",
        "url",
        "version",
    }
)
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


@lru_cache(maxsize=4096)
def is_secret_key(key: str) -> bool:
    """Whether the value of this key is a secret: `connection.password`, `aws-secret-key`, `apiKey`.

    Not secret are `topics`, `key.converter`, `key.format`, `primary key`, `message.key.columns` and the like.
    """
    words = [word.lower() for word in _PART.findall(key[:512])]
    if not words:
        return False
    joined = "".join(words)
    pairs = set(pairwise(words))
    if ("access", "key") in pairs or ("user", "info") in pairs:
        # A key id counts as secret: `aws.access.key.id`, `basic.auth.user.info`.
        return words[-1] not in _DESCRIPTIVE - {"id"}
    if words[-1] in _DESCRIPTIVE:
        return False
    if any(part in joined for part in _INSIDE):
        return True
    if any(word in _WORDS or word.endswith("token") for word in words):
        return True
    return any(before in _SECRET_KEYS and after in ("key", "keys") for before, after in pairs)
