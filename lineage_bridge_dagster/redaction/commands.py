"""Masking secrets in commands, whose programs each have an option of their own for a password."""

from __future__ import annotations

import re

from lineage_bridge_dagster.redaction.keys import is_secret_key
from lineage_bridge_dagster.redaction.values import MASK, is_harmless

#: One argument; parts of it may be in quotes.
_WORD = r"""(?:\\?"[^"\n]{0,1024}+"|'[^'\n]{0,1024}+'|[^\s'"|;`]{1,1024}+){1,4}+"""
#: The sign, the space or, in a list of arguments, the quotes between an option and its value.
_BEFORE = r"""(?P<before>\\?["'],\s{0,4}+|[=\s]{0,8}+)"""
_VALUE = rf"{_BEFORE}(?P<value>(?!-){_WORD})"
_ATTACHED = rf"(?P<before>)(?P<value>(?![\s\"']*(?:\s|\Z)){_WORD})"
_LOGIN = (
    r"(?:docker|podman|nerdctl|buildah|skopeo|crane|oras|helm|az|oc)"
    r"(?:[ \t]{1,8}+(?:registry|acr))?+[ \t]{1,8}+login"
)
#: Java's programs have `-password x` and `-port n`.
_P = r"-p(?!(?:ass\w*|ort)(?:[\s=]|\Z))"
#: Programs, what comes before their password, and what divides it from the name if they are one argument.
_PROGRAMS = tuple(
    (program, re.compile(rf"""(?<![^\s"']){secret}"""), sign)
    for program, secret, sign in (
        # With a space, MySQL's is the name of a database.
        (r"(?:mysql|mariadb|mycli)[\w\-]{0,16}+|7z[ar]?+|u?n?rar", f"{_P}{_ATTACHED}", ""),
        (r"sshpass|ksql|mongo[a-z]{0,8}+|beeline|cqlsh|dsbulk", f"{_P}{_VALUE}", ""),
        (_LOGIN, f"{_P}{_VALUE}", ""),
        (r"sqlcmd|osql|bcp|freebcp|tsql|zip|unzip|ipmitool", f"-P{_VALUE}", ""),
        (r"ldap(?:search|add|modify|delete|passwd|whoami|compare|modrdn)", f"-w{_VALUE}", ""),
        (r"ssh-keygen", f"-[NP]{_VALUE}", ""),
        (r"nodetool", f"-pw{_VALUE}", ""),
        (r"redis-(?:cli|benchmark)|valkey-cli|keydb-cli", f"-a{_VALUE}", ""),
        (r"openssl", f"-(?:k|K|pass(?:in|out)?+)(?=[\\s\"'=]){_VALUE}", ""),
        (r"snmp[a-z]{2,8}+", f"-[AX]{_VALUE}", ""),
        (r"curl", f"(?:-[A-Za-z#0]{{0,8}}[uU]|--(?:proxy-)?+user){_VALUE}", ":"),
        (r"https?|xh", f"-a{_VALUE}", ":"),
        (r"smbclient|rpcclient|net|smbmap", f"-U{_VALUE}", "%"),
        (r"vault[ \t]{1,8}+login", r"(?P<before>)(?P<value>(?=[\w.\-]{0,256}\d)[\w.\-]{8,256}+)", ""),
        (
            r"htpasswd",
            rf"-\w{{0,8}}b\w{{0,8}}+(?P<before>(?:\s{{1,8}}+\S{{1,256}}+){{2}}\s{{1,8}}+)(?P<value>{_WORD})",
            "",
        ),
        (r"net[ \t]{1,8}+use", rf"\\\\\S{{1,256}}+(?P<before>[ \t]{{1,8}}+)(?P<value>(?!/){_WORD})", ""),
        (
            r"sqlplus|sqlldr|impdp|expdp|imp|exp|rman|sqlcl",
            r"""(?:[a-z]{1,16}+=)?+[A-Za-z][\w$\#]{0,29}+(?P<before>/)(?P<value>[^\s@'"/]{1,128}+)(?=[@\s'"]|\Z)""",
            "",
        ),
    )
)
_COMMAND = re.compile(
    r"(?<![\w.\-])(?:"
    + "|".join(f"(?P<program{number}>{program})" for number, (program, _, _) in enumerate(_PROGRAMS))
    + r""")(?:\.exe)?+\\?["']?,?(?=[ \t])"""
    r"""(?P<arguments>(?:\\?"[^"\n]{0,1024}+"|'[^'\n]{0,1024}+'|\\\r?\n|[^\n|;&"'\\]|&(?!&)|\\.){1,4096}+)"""
)
#: `curl` and the like may be missing from a setting that has options only.
_USER = re.compile(
    r"""(?<!\S)(?:-u|--user)[ \t=]{1,8}+["']?(?!\d+:\d)
    (?P<value>[^\s:'"]{1,128}+:(?P<password>[^\s'"]{1,256}+))""",
    re.VERBOSE,
)
#: An option that tells what it is: `--password x`.
_OPTION = re.compile(
    rf"""(?<![\w\-])--?(?P<name>[A-Za-z][\w.\-]{{2,64}}+)
    (?P<before>\\?["'],\s{{0,4}}+|[ \t]{{1,8}}+|[ \t]{{0,8}}+\r?\n[ \t]{{0,64}}+-[ \t]{{1,8}}+)
    (?P<value>(?![\-=:|*]){_WORD})""",
    re.VERBOSE,
)
#: A name and a value without a sign, as in Dockerfiles, shells, servers' configurations, tools' settings.
_PAIR = re.compile(
    rf"""(?ix)(?:(?<![\w.\-])(?:setx(?:[ ]/m)?+|setenv|set[ ]-\w{{1,4}}+
          |fastcgi_param|(?:proxy_set|add)_header
          |(?:request)?header[ ](?:set|add|append)
          |config(?:ure)?+(?:[ ](?:set|--?\w{{1,16}}+)){{1,3}}+)
        |(?m:^)[ \t]{{0,64}}+(?:onbuild[ ])?+env)[ \t]{{1,8}}+(?P<name>["']?[\w.\-/:@]{{2,128}}+["']?)
    (?P<before>[ \t]{{1,8}}+)(?P<value>(?![=:*]){_WORD})"""
)
#: A name and a value in quotes: `private_key "x";`.
_QUOTED = re.compile(
    r"""(?<![\w.\-])(?P<name>[\w.\-]{2,128}+)(?P<before>[ \t]{1,8}+)
    (?P<value>"[^"\n]{1,1024}+"|'[^'\n]{1,1024}+')(?=[ \t]{0,4}+;)""",
    re.VERBOSE,
)
#: Settings of servers that are passwords, though their names do not say so.
_DIRECTIVE = re.compile(
    rf"(?im)^[ \t]{{0,64}}+(?:requirepass|masterauth)(?P<before>[ \t]{{1,8}}+)(?P<value>{_WORD})"
)


def masked_commands(text: str) -> str:
    """Mask the passwords that commands in a text are given."""
    if " " not in text and "\t" not in text:
        return text
    text = _PAIR.sub(_named, _COMMAND.sub(_command, text))
    if "-" in text:
        text = _USER.sub(_user, _OPTION.sub(_named, text))
    if ";" in text:
        text = _QUOTED.sub(_named, text)
    return _DIRECTIVE.sub(_masked, text) if "auth" in text or "pass" in text else text


def _command(match: re.Match[str]) -> str:
    number = next(i for i in range(len(_PROGRAMS)) if match[f"program{i}"] is not None)
    _, secret, sign = _PROGRAMS[number]

    def masked(found: re.Match[str]) -> str:
        _, divides, password = found["value"].strip("\"'").rpartition(sign) if sign else ("", "", "")
        return found[0] if sign and (not divides or (password and is_harmless(password))) else _masked(found)

    arguments = secret.sub(masked, match["arguments"])
    return match[0][: match.start("arguments") - match.start()] + arguments


def _user(match: re.Match[str]) -> str:
    return match[0] if is_harmless(match["password"]) else _masked(match)


def _named(match: re.Match[str]) -> str:
    name = match["name"].strip("\"'").rpartition(":")[2]
    return _masked(match) if is_secret_key(name) else match[0]


def _masked(match: re.Match[str]) -> str:
    """What was found, with its value masked except for the quotes around it."""
    value = match["value"]
    quote = re.match(r"""\\?["']|""", value)
    around = quote[0] if quote and value.endswith(quote[0]) and len(value) > 2 * len(quote[0]) else ""
    if is_harmless(value[len(around) : len(value) - len(around)]):
        return match[0]
    start, end = match.start("value") - match.start(), match.end("value") - match.start()
    return match[0][:start] + around + MASK + around + match[0][end:]
