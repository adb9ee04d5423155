"""Which configuration keys hold a secret, by their words."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

#: A word that makes a key secret by itself, however it is joined to others (`dbpassword`).
_INSIDE = ("password", "passwd", "passphrase", "secret", "credential", "keyfile", "keystorefile", "jaas")
#: A whole word of a key, or its end (`authtoken`).
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
#: What before `key` makes it a secret one. `primary.key`, `message.key`, `routing.key` are none.
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
#: A key that ends so tells about a secret, and holds none (`aws.credentials.provider.class`).
_ABOUT = frozenset(
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

    `topics`, `key.converter`, `key.format`, `primary key`, `message.key.columns` and the like are not.
    """
    words = [word.lower() for word in _PART.findall(key[:512])]
    if not words:
        return False
    joined = "".join(words)
    pairs = set(pairwise(words))
    if ("access", "key") in pairs or ("user", "info") in pairs:
        # The key id of a pair counts as one: `aws.access.key.id`, `basic.auth.user.info`.
        return words[-1] not in _ABOUT - {"id"}
    if words[-1] in _ABOUT:
        return False
    if any(part in joined for part in _INSIDE):
        return True
    if any(word in _WORDS or word.endswith("token") for word in words):
        return True
    return any(before in _SECRET_KEYS and after in ("key", "keys") for before, after in pairs)
