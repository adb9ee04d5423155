"""Recognizing secrets by what they look like, whatever they belong to: keys of vendors, user info of URLs."""

from __future__ import annotations

import re

#: Stand-ins for secrets, which need no mask: names of secrets stored elsewhere, and masks. Who reads a
#: lineage needs to know where a password comes from, and a reference tells nothing of its value.
_FORMS = r"""
    \$\{\{[^{}]{0,256}+\}\} | \$\{[^{}]*+\}
  | \{\{\s{0,8}+(?:env|resolve|secrets?|vault|lookup|var)\b[^{}\n]{1,256}+\}\}
  # Kafka shows a password as [hidden].
  | [<\[(](?i:redacted|hidden|masked|filtered|omitted)[>\])]
  # A variable. Without a digit in it: those that look alike are passwords.
  | \$[A-Z]{2,32}+(?:_[A-Z]{1,32}+){1,8}+ | %[A-Z]{2,32}+(?:_[A-Z]{1,32}+){1,8}+%
  | env:[A-Z]{2,32}+(?:_[A-Z]{1,32}+){1,8}+
  # Whatever has an Amazon Resource Name, that is not a secret.
  | arn:aws[a-z\-]{0,12}+:[a-z0-9\-]{1,32}+:[a-z0-9\-]{0,32}+:\d{12}:[\w/+.:*\-]{1,512}+
  | (?:resolve:)?+(?:secretsmanager|ssm-secure|ssm):(?!//)[\w/+.\-]{1,256}+(?::[\w.\-]{0,128}+){1,4}+
  | https://[\w\-]{1,63}+\.(?:vault\.(?:azure\.(?:net|cn)|usgovcloudapi\.net)|managedhsm\.azure\.net)
    /(?:secrets|keys|certificates)/[\w\-/]{1,256}+
  | @Microsoft\.KeyVault\([^()\s"']{1,512}+\)
  | (?://secretmanager\.googleapis\.com/)?+projects/[\w\-]{1,64}+(?:/locations/[\w\-]{1,64}+)?+
    /secrets/[\w\-]{1,255}+(?:/versions/\w{1,32}+)?+
  | vault:[\w\-]{1,64}+(?:/[\w.\-]{1,128}+){1,16}+[\#:][\w.\-]{1,128}+
  | (?:op|sm|awssm|vault|keyvault|akv|keeper|doppler|berglas|ref\+[a-z]{1,32}+|[a-z]{2,8}+-kms)
    ://[\w.:\ \-]{0,128}+(?:/[\w.\ \-]{1,128}+){1,16}+(?:\#[\w./\-]{1,128}+)?+
  | (?:file:(?://)?+)?+(?:/var)?+/(?:run|mnt|etc)/secrets(?:/[\w.\-]{1,128}+){1,8}+
"""
#: Not a reference if the text goes on: `op://a/b/c@host`, `$env:API_KEY = "x"`.
REFERENCE = re.compile(
    rf"""(?:{_FORMS})(?![ \t]{{0,4}}+=)(?=[\s,;&"'`)\]}}>|\\]|[.:](?:\s|\Z)|\Z)""", re.VERBOSE
)


MASK = "****"

#: Values that are not secrets: what is masked, and switches.
_HARMLESS = re.compile(r"\W*\w?\W*|true|false|yes|no|null|none", re.IGNORECASE)

#: A key as generators make them; names of topics, classes and files have dots or spaces, or one case.
_GENERATED = re.compile(r"[A-Za-z0-9+/_\-]{20,}+=*+")

_PEM = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}(?:PRIVATE KEY|PUBLIC KEY|CERTIFICATE|MESSAGE|BLOCK)-----"
)
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{1,64}-----")
_USER_INFO = re.compile(r"""(?<=://)[^\s/?#'"`<>@]{0,1024}+(?:@[^\s/?#'"`<>@]{0,1024}+(?=@)){0,8}@""")
#: User info with an unescaped slash, in which the password may look like a port.
_SLASHED_USER_INFO = re.compile(
    r"""(?<=://)[^\s/?#'"`<>@:\[\]]{0,256}+:(?!\d{1,5}+(?:[/?\#\s]|$))[^\s@'"`<>,;]{1,256}+@""", re.VERBOSE
)
_AZURE_SCHEMES = ("abfs://", "abfss://", "wasb://", "wasbs://")
_CONTAINER = re.compile(r"[a-z0-9$-]{1,63}@")
_QUOTED_OR_BARE = r"""(?:\\?"[^"\n]{1,256}+"|'[^'\n]{1,256}+'|[^\s'"@]{1,256}+)@"""
_ORACLE_USER_INFO = re.compile(
    rf"""(?i)(?<=jdbc:oracle:)(thin|oci8?):\\?["']?[^\s'"/@*\\]{{1,128}}+\\?["']?/{_QUOTED_OR_BARE}"""
)
#: `scott/tiger@//host:1521/service`, as Oracle's own tools have it.
_EASY_CONNECT = re.compile(
    rf"""(?<![\w./:@\-])([A-Za-z][\w$\#]{{0,29}}+|"[^"\n]{{1,30}}+")/{_QUOTED_OR_BARE}
    (?=//|[\w.\-]{{1,255}}+:\d{{2,5}}+/|\(DESCRIPTION)""",
    re.VERBOSE,
)
#: `user:password@host:3306`, without a scheme; what has a digest is an image.
_PLAIN_USER_INFO = re.compile(
    r"""(?<![^\s'"=])[\w.\-]{1,64}+:[^\s'"@/:,;]{1,256}+@(?=[\w.\-]{1,255}+:\d{2,5}(?!\w))"""
)
#: `user:password@tcp(host:3306)/db`, as drivers of Go have it.
_GO_USER_INFO = re.compile(r"""(?<![^\s'"=,])[^\s'"=,:@]{1,128}+:[^\s'"@]{1,256}+@(?=(?:tcp|unix)\()""")
_BEARER = re.compile(r"(?i)(?<![A-Za-z0-9])bearer[ \t]{1,8}+([A-Za-z0-9._~+/=\-]{4,}+)")
#: Schemes of single services.
_SCHEME = re.compile(
    r"""(?i)(?<![A-Za-z0-9])(?:apikey|genie-?key|negotiate|ntlm|splunk|sso-key)[ \t]{1,8}+
    ([A-Za-z0-9._~+/=:\-]{8,}+)""",
    re.VERBOSE,
)
#: `machine host login user password word`, as in a `.netrc`.
_NETRC = re.compile(r"(\blogin\s{1,8}+\S{1,256}+\s{1,8}+password\s{1,8}+)[^\s*]\S{0,1024}+")
_BASIC = re.compile(r"(?i)(?<![A-Za-z0-9])basic[ \t]{1,8}+([A-Za-z0-9._~+/=\-]{4,}+)")
#: Any other authorization scheme, or none: `Authorization: ApiKey ...`, `"Authorization": "Token ..."`.
_AUTHORIZATION = re.compile(
    r"""(?i)(authorization["']?+\s{0,4}+[:=]\s{0,4}+["']?+(?:[A-Za-z][A-Za-z0-9\-]{0,30}+[ \t]{1,8}+)?+)
    ((?:[A-Za-z]{1,32}+=["']?+[^\s"'|,]{1,1024}+["']?+(?:,[ \t]{0,4}+)?+){1,16}
    |[^\s"'|]{4,}+)""",
    re.VERBOSE,
)
#: Secrets in a URL's query: function codes, signatures of presigned URLs.
_QUERY = re.compile(
    r"""(?i)((?:[?&;]|(?<=sharedaccesssignature[ ]))
    (?:code|key|sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token))=)
    [^&\s'"`<>\#*;]{1,4096}+""",
    re.VERBOSE,
)
_SIGNATURE = re.compile(
    r"(?i)(?<![A-Za-z0-9])((?:sig|signature)=)(?=[A-Za-z+/%_\-]*+[0-9])[A-Za-z0-9+/%_\-]{16,4096}+=*+"
)
#: What certain vendors issue, by the beginnings that they document.
_TOKENS = re.compile(
    r"""(?<![A-Za-z0-9_\-])(?:
        (?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])
      | eyJ[A-Za-z0-9_\-]{8,}+\.[A-Za-z0-9_\-]{8,}+\.[A-Za-z0-9_\-]*+
      | gh[pousr]_[A-Za-z0-9]{30,}+ | github_pat_\w{30,}+
      | gl(?:pat|rt|dt|cbt|ptt|soat)-[\w\-]{20,}+
      | xox[abeoprs]-[A-Za-z0-9\-]{10,}+ | xapp-[A-Za-z0-9\-]{10,}+ | AIza[\w\-]{35} | ya29\.[\w\-]{20,}+
      | sk-[A-Za-z0-9_\-]{20,}+ | (?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}+
      | SG\.[\w\-]{16,}+\.[\w\-]{16,}+
      | hv[sbr]\.[\w\-]{20,}+ | dapi[0-9a-f]{32} | dp\.(?:pt|st|ct|sa)\.[\w.\-]{20,}+
      | cflt[A-Za-z0-9+/=]{40,}+
      | npm_[A-Za-z0-9]{36} | pypi-[\w\-]{40,}+ | dckr_pat_[\w\-]{20,}+ | do[opr]_v1_[0-9a-f]{64}
      | shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32} | NRAK-[A-Z0-9]{27} | glsa_\w{32,}+ | hf_[A-Za-z]{30,}+
      | lin_api_\w{32,}+ | sq0(?:atp|csp)-[\w\-]{22,}+ | AGE-SECRET-KEY-1[A-Z0-9]{50,}+ | key-[0-9a-f]{32}
      # With a capital and a digit: names of topics and tables begin with such words, too.
      | (?:gsk|pcsk|pscale_pw|pscale_tkn|r8|tfp|ntn|secret|glc|sntrys|ops|fo1|fm2|duffel_(?:test|live)
          |vercel_blob_rw|rdme|CLOJARS|AVNS|CCIPAT|FLWSECK(?:_TEST)?)
        [_\-](?=[\w\-]{0,64}[A-Z])(?=[\w\-]{0,64}[0-9])[A-Za-z0-9_\-]{18,}+
      | (?:sbp|rubygems|sntryu|bkua|sgp(?:_[0-9a-f]{16})?|shippo_(?:live|test)|lsv2_(?:pt|sk)|live)
        _[0-9a-f]{32,64}(?:_[0-9a-f]{10})?(?![A-Za-z0-9])
      | (?:xai|nvapi|pplx)-[\w\-]{40,}+ | pul-[0-9a-f]{40} | xkeysib-[0-9a-f]{64}-\w{16}
      | tskey-[a-z]{3,12}-[\w\-]{20,}+ | pat-(?:na|eu)\d-[0-9a-f\-]{36} | PMAK-[0-9a-f]{24}-[0-9a-f]{34}
      | PRMA-[A-Z0-9]{32} | HRKU-[\w\-]{36,}+ | p8e-[A-Za-z0-9]{32} | v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}+
      | A3-[A-Z0-9]{6}-[A-Z0-9]{6,11}(?:-[A-Z0-9]{5}){3,4} | [\w~.]{3}\dQ~[\w~.\-]{31,34}
      | dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64} | pat\w{14}\.[0-9a-f]{64} | sl\.(?:u\.)?[\w\-]{100,}+
      | (?:LTAI[A-Za-z0-9]{16,24}|EZ[AT]K[A-Za-z0-9]{54}|AKCp[A-Za-z0-9]{69}
          |cmVm[A-Za-z0-9]{60}|4b1d[A-Za-z0-9]{38}
          |SK[0-9a-f]{32}|dG9rO[A-Za-z0-9=]{50,60})(?![A-Za-z0-9])
      | (?:ATATT3|ATCTT3|EAA[A-Z]|AQoDYXdz|IQoJb3JpZ2lu|FwoGZXIvYXdz|ABSK|MII[A-Z])[A-Za-z0-9+/_\-]{90,}+=*+
      | \d{8,10}:AA[\w\-]{33}
      # Hashes of passwords.
      | \$(?:2[abxy]\$\d\d|apr1|[156y7]|argon2(?:id?|d)\$v=\d+\$[\w=,]{5,64}+|scrypt)\$[\w./$=,+\-]{20,512}+
      | (?:pbkdf2|bcrypt|scrypt)_?\w{0,16}\$\d+\$[^\s$'"]{1,128}+\$[\w+/=.]{16,256}+
      | SCRAM-SHA-(?:256|512)\$\d+:[\w+/=]{8,128}+\$[\w+/=:]{32,512}+
    )""",
    re.VERBOSE,
)
#: Addresses that are secrets as a whole: who knows one may write to the channel.
_WEBHOOK = re.compile(
    r"(https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|[\w.\-]{1,128}+\.webhook\.office\.com"
    r"|(?:canary\.|ptb\.)?discord(?:app)?\.com/api/webhooks|api\.telegram\.org/bot)/?)[^\s'\"`<>*]{8,1024}+"
)


def is_harmless(value: str) -> bool:
    """Whether a value needs no mask even under a secret's key: masked, a reference, a switch or a sign."""
    value = value.strip()
    return _HARMLESS.fullmatch(value) is not None or REFERENCE.fullmatch(value) is not None


def masked_values(text: str) -> str:
    """Mask what is a secret in any context."""
    if "-----BEGIN " in text:
        text = _without_pem(text)
    if "@" in text:
        text = _without_user_info(text)
    lower = text.lower()
    if " " in text or "\t" in text:
        if "bearer" in lower:
            text = _BEARER.sub(_after_scheme, text)
        if "basic" in lower:
            text = _BASIC.sub(_after_scheme, text)
        text = _SCHEME.sub(_after_scheme, text)
    if "login" in lower:
        text = _NETRC.sub(_after, text)
    if "authorization" in lower:
        text = _AUTHORIZATION.sub(_authorization, text)
    if "=" in text:
        text = _SIGNATURE.sub(_after, _QUERY.sub(_after, text))
    return masked_tokens(text)


def masked_tokens(text: str) -> str:
    """Mask what vendors issue."""
    if "https://" in text:
        text = _WEBHOOK.sub(_after, text)
    return _TOKENS.sub(MASK, text)


def _without_user_info(text: str) -> str:
    if "://" in text:
        text = _SLASHED_USER_INFO.sub(f"{MASK}@", _USER_INFO.sub(_user_info, text))
    if "oracle" in text.lower():
        text = _ORACLE_USER_INFO.sub(rf"\1:{MASK}/{MASK}@", text)
    if "/" in text:
        text = _EASY_CONNECT.sub(rf"\1/{MASK}@", text)
    text = _PLAIN_USER_INFO.sub(f"{MASK}@", text)
    return _GO_USER_INFO.sub(f"{MASK}@", text) if "(" in text else text


def _without_pem(text: str) -> str:
    """Mask the content of PEM blocks; one without an end, to the end of the text."""
    parts: list[str] = []
    position = 0
    while begin := _PEM.search(text, position):
        parts.append(text[position : begin.end()])
        parts.append(MASK)
        end = _PEM_END.search(text, begin.end())
        if end is None:
            return "".join(parts)
        parts.append(end.group())
        position = end.end()
    parts.append(text[position:])
    return "".join(parts)


def _user_info(match: re.Match[str]) -> str:
    # In `abfss://container@account...` it is a container, without which the address means another one.
    is_container = match.string.endswith(_AZURE_SCHEMES, 0, match.start()) and _CONTAINER.fullmatch(match[0])
    return match[0] if is_container else f"{MASK}@"


def is_generated(value: str) -> bool:
    """Whether a value looks like a generated key: long, without spaces, of mixed capitals and digits."""
    kinds = (str.isdigit, str.islower, str.isupper)
    return _GENERATED.fullmatch(value) is not None and all(any(map(kind, value)) for kind in kinds)


def _after(match: re.Match[str]) -> str:
    # A template would be read each time, also where nothing matches.
    return match[1] + MASK


def _after_scheme(match: re.Match[str]) -> str:
    # "Bearer authentication" is prose, and so are "Basic, ..." and "basic auth.".
    word = match[1].rstrip(".-")
    is_prose = word.isalpha() and (word.islower() or word.istitle() or word.isupper()) and len(word) < 20
    return match[0] if is_prose else match[0][: -len(match[1])] + MASK


def _authorization(match: re.Match[str]) -> str:
    # "authorization: missing" is prose.
    word = match[2]
    return match[0] if word.isalpha() and word.islower() else match[1] + MASK
