"""Recognizing keys whose values are secrets: by name as connectors' templates have them, else by the words
in them."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from lineage_bridge_dagster.text import words

#: Keys of Confluent's managed connectors whose type is PASSWORD, and whose words alone do not tell it: in
#: lower case, with dots for separators, without what is before the last of these in a longer key. They are
#: from the templates of Confluent's connect-migration-utility, with all of whose keys a test compares them.
#: Two are left out: `query`, since how SQL is shown is a setting, and `azblob.account.name`, which is part of
#: a dataset's name and in another template a plain text.
TEMPLATE_SECRETS = words(
    """aws.secret.key.id azure.search.client.id azure.search.subscription.id azure.search.tenant.id
    database.sslcert database.sslrootcert mq.tls.keystore.location mq.tls.truststore.location mqtt.username
    oauth2.client.headers oauth2.jwt.keystore.path redis.cacert redis.key.cert s3.sse.customer.key
    ssl.rootcertfile"""
)
#: Words that make a key secret even inside another word (`dbpassword`), also if separators divide them.
_INSIDE = words(
    """password passwd passphrase passcode secret credential keyfile keystorefile truststorefile pemfile jaas
    keyset connectionstring certificatechain truststorecertificates"""
)
#: Words that hold one of these and mean something else.
_UNRELATED = re.compile(r"(?:under)?secretar\w*|secret(?:ion|ory|ive)\w*")
#: Words that make a key secret as a complete word.
_WORDS = frozenset({"token", "pwd", "pem", "creds", "cred", "cookie", "cookies", "bearer"})
#: Words that make a key secret as the last one: `x-auth`, `db.pass`, but not `auth.type` or `pass.through`.
_LAST = words("assertion auth authorization dek kek keystore pass pat pepper psk pswd pw salt sas truststore")
#: Ends of words that are written together: `sharedaccesskey`, `dbpwd`, `authtoken`.
_END = re.compile(
    r"(?:token|pwd|requirepass|masterauth|(?:user|db|root|admin|auth|login|sql|kafka|store|key)pass"
    r"|(?:api|access|secret|private|priv|account|shared|ssl|tls|auth|signing|encryption|hmac|license|client)key)$"
)
#: Pairs of words of secrets whose ids are secrets as well.
_WITH_IDS = frozenset({("access", "key"), ("secret", "id"), ("user", "info")})
#: Words that make a key secret before `key`, unlike in `primary.key`, `message.key` or `routing.key`.
_SECRET_KEYS = words(
    """access account admin api app application auth client consumer decryption encryption function
    functions hec hmac host ingest integration jwt keystore license licence master private rsa sas
    secret service shared signing ssh ssl storage subscription tls vapid wrapping write"""
)
#: Words that make a key secret anywhere before a last `key`: `cipher.data.keys`.
_ENCRYPTING = frozenset({"cipher", "encryption", "sse"})
#: Words after which several tokens are secrets; without one they are counted, as in `prompt.tokens`.
_SECRET_TOKENS = frozenset({"access", "api", "auth", "bearer", "refresh", "secret", "session"})
#: First words of keys that count or ask: `is_password_set`, `max_token_age`.
_ASKING = frozenset({"is", "has", "existing", "num", "max", "min", "avg", "total", "requires"})
#: Last words of keys that describe a secret but do not hold one (`aws.credentials.provider.class`).
_DESCRIPTIVE = words(
    """age algorithm alias allowed arn at attempts changed class column columns configs converter count
    created date days enable enabled endpoint env expired expires expiry failures field fields flag format
    header id identifier index interval issued issuer kind length level limit location manager max
    method min minutes mode ms name names ns path period policy position prefix property provider rate
    required reset rotated rotation scope scopes seconds set size source state status strength suffix
    time timeout timestamp ts ttl type types updated uri url usage used valid validity var variable version"""
)
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


@lru_cache(maxsize=8192)
def is_secret_key(key: str) -> bool:
    """Whether the value of this key is a secret: `connection.password`, `aws-secret-key`, `apiKey`, `X-Auth`.

    Not secret are `topics`, `key.converter`, `key.format`, `primary key`, `message.key.columns` and the like.
    """
    parts = [word.lower() for word in _PART.findall(key[:512])]
    if not parts:
        return False
    if not TEMPLATE_SECRETS.isdisjoint(_ends(key)):
        return True
    last = next((word for word in reversed(parts) if not word.isdigit()), "")
    pairs = set(pairwise(parts))
    if not _WITH_IDS.isdisjoint(pairs) or "accesskey" in parts:
        # A key id counts as secret: `aws.access.key.id`, `basic.auth.user.info`.
        return last not in _DESCRIPTIVE - {"id"}
    if last in _DESCRIPTIVE or parts[0] in _ASKING:
        return False
    joined = "".join(word for word in parts if not _UNRELATED.fullmatch(word))
    if any(part in joined for part in _INSIDE) or last in _LAST:
        return True
    if any(word in _WORDS or _END.search(word) for word in parts):
        return True
    if ("sensitive", "headers") in pairs or ("confluent", "license") in pairs:
        return True
    if last in ("key", "keys") and not _ENCRYPTING.isdisjoint(parts):
        return True
    return any(
        (before in _SECRET_KEYS and after in ("key", "keys"))
        or (before in _SECRET_TOKENS and after == "tokens")
        for before, after in pairs
    )


def _ends(key: str) -> list[str]:
    """A key and what is left of it without the parts before: a worker's configuration puts prefixes first."""
    parts = key.lower().replace("-", ".").replace("_", ".").split(".")
    return [".".join(parts[i:]) for i in range(len(parts))]
