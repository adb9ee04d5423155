"""Which AWS identity the settings give, where its credentials come from, and which variables have no say.

The order in which boto3 looks for credentials is that of botocore's `create_credential_resolver`; Spark's AWS
SDK for Java is configured to follow it (`catalog_properties`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError

from lineage_bridge_dagster.config.aws import aws_session, client_config, profile_session
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError

_KEY, _SECRET, _TOKEN = _KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_WEB_IDENTITY = ("AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE")
_CONTAINER = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")

#: Where credentials come from, as a phrase, by the name of the method in botocore.
_SOURCES = {
    "env": "the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "shared-credentials-file": "the keys of profile {profile} in the credentials file",
    "config-file": "the keys of profile {profile} in the configuration file",
    "assume-role": "the role that profile {profile} assumes",
    "assume-role-with-web-identity": "the role of a web identity token",
    "sso": "the single sign-on of profile {profile}",
    "login": "the sign-in of profile {profile}",
    "custom-process": "the process that profile {profile} names",
    "container-role": "the role of the container",
    "iam-role": "the role of the EC2 instance",
    "boto2-config": "the keys in a configuration file of boto 2",
}
_ROLE_SESSION = re.compile(r"arn:(?P<partition>[\w-]+):sts::(?P<account>\d+):assumed-role/(?P<role>[^/]+)/.+")
_STATIC = ("env", "shared-credentials-file", "config-file")
_UNSET_KEYS = f"Unset {', '.join(_KEYS[:2])} and {_TOKEN}, so that everything here has one identity."


@dataclass(frozen=True, slots=True)
class Stray:
    """A variable that looks as if it decided about the identity, and does not, or not everywhere.

    Attributes:
        why: what decides in its place, or what is wrong with it.
        breaks: whether AWS refuses every call while it is so.
    """

    variable: str
    why: str
    remedy: str
    breaks: bool = False

    def __str__(self) -> str:
        return f"{self.variable}: {self.why}"


@dataclass(frozen=True, slots=True)
class AwsIdentity:
    """The identity in use. It holds no credential.

    Attributes:
        region: of Glue; empty if none is set.
        source: where the credentials come from, as a phrase; empty if there are none.
        method: the same by botocore's name, such as `env` or `sso`.
        key_end: the last four characters of an access key in a variable or a file.
        role_arn: the role that is assumed with them.
        strays: variables that have no effect, or not the one that they seem to have.
    """

    region: str
    source: str
    method: str
    key_end: str = ""
    role_arn: str | None = None
    strays: tuple[Stray, ...] = ()

    def __str__(self) -> str:
        source = self.source or "no credentials"
        return f"{self.role_arn}, assumed with {source}" if self.role_arn else source


@dataclass(frozen=True, slots=True)
class Caller:
    """Who AWS says that the caller is."""

    account: str
    arn: str

    @property
    def principal(self) -> str:
        """The ARN with the policies of the caller: a role's, for a session of it.

        The session's ARN does not tell the path of a role.

        >>> Caller("1", "arn:aws:sts::111122223333:assumed-role/lineage/session").principal
        'arn:aws:iam::111122223333:role/lineage'
        """
        match = _ROLE_SESSION.fullmatch(self.arn)
        if match is None:
            return self.arn
        return f"arn:{match['partition']}:iam::{match['account']}:role/{match['role']}"


def identity_of(
    settings: AwsSettings,
    env: Mapping[str, str] | None = None,
    dotenv: Mapping[str, str | None] | None = None,
) -> AwsIdentity:
    """Find out what the settings and AWS's own variables and files amount to; AWS is not asked.

    Without other credentials, the metadata services of EC2 and containers are asked, which may take seconds.

    Args:
        env: the variables; by default the environment's. boto3 itself always reads those.
        dotenv: the variables that a `.env` file sets.

    Raises:
        ConfigurationError: an unknown profile, or credentials that can't be read.
    """
    env = {name: text for name, text in (os.environ if env is None else env).items() if text}
    session = profile_session(settings)
    try:
        credentials = session.get_credentials()
    except BotoCoreError as error:
        raise ConfigurationError(
            f"The AWS credentials could not be read: {error}",
            hint="Set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or neither; or sign in again (`aws "
            "sso login`) or correct the profile that is named.",
        ) from error
    method = str(credentials.method) if credentials else ""
    profile = settings.profile or env.get("AWS_PROFILE") or env.get("AWS_DEFAULT_PROFILE") or "default"
    source = _SOURCES.get(method, method).format(profile=profile)
    if method == "env" and env.get(_KEY) == (dotenv or {}).get(_KEY):
        source += " of the .env file"
    region = settings.region or session.region_name or ""
    strays = tuple(_strays(settings, method, region, env))
    # The key of a role or of a container is got from a service.
    key_end = str(credentials.access_key)[-4:] if credentials and method in _STATIC else ""
    return AwsIdentity(region, source, method, key_end, settings.role_arn, strays)


def caller_of(settings: AwsSettings, sts: Any = None) -> Caller:
    """Ask STS who the caller is. It needs no permission.

    Raises:
        ConfigurationError: no region, an unknown profile, or no credentials to assume a role with.
        ClientError: AWS did not accept the credentials; the error is botocore's.
        BotoCoreError: there are no credentials, or STS can't be reached; likewise.
    """
    session: Any = aws_session(settings)
    client = sts or session.client("sts", config=client_config(1))
    answer = client.get_caller_identity()
    return Caller(answer["Account"], answer["Arn"])


def _strays(settings: AwsSettings, method: str, region: str, env: Mapping[str, str]) -> Iterator[Stray]:
    yield from _broken_keys(method, env)
    yield from _stray_keys(settings, method, env)
    yield from _stray_profiles(settings, method, env)
    for name in REGION_VARIABLES:
        if env.get(name, region) != region:
            yield Stray(
                name,
                f"it is {env[name]}, and the region in use is {region}; other AWS tools use {name}",
                f"Set {name} to {region}, or unset it.",
            )
    glue = env.get("AWS_ENDPOINT_URL_GLUE")
    if settings.endpoint_url and glue and glue != settings.endpoint_url:
        yield Stray(
            "AWS_ENDPOINT_URL_GLUE",
            f"the settings name {settings.endpoint_url} for Glue",
            "Unset it, or LINEAGE_BRIDGE_AWS_ENDPOINT_URL.",
        )
    ignored = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
    if env.get(ignored, "").lower() == "true" and any(name.startswith("AWS_ENDPOINT_URL") for name in env):
        yield Stray(ignored, "boto3 obeys it, Spark does not", f"Unset {ignored} and the AWS_ENDPOINT_URL...")


def _broken_keys(method: str, env: Mapping[str, str]) -> Iterator[Stray]:
    """Keys in use that AWS refuses whatever they are allowed."""
    if method != "env":
        return
    key, token = env.get(_KEY, ""), env.get(_TOKEN)
    if key.startswith("AKIA") and token:
        why = f"it does not belong to the long-term key in {_KEY}, but is left over from another session"
        yield Stray(_TOKEN, why, f"Unset {_TOKEN}.", breaks=True)
    if key.startswith("ASIA") and not token:
        why = f"it is a temporary key, and {_TOKEN} is not set"
        yield Stray(_KEY, why, f"Set {_TOKEN} as well; it comes with the key.", breaks=True)
    for name in _KEYS:
        if env.get(name, "") != env.get(name, "").strip():
            yield Stray(name, "it has spaces or line breaks at its ends", "Remove them.", breaks=True)


def _stray_keys(settings: AwsSettings, method: str, env: Mapping[str, str]) -> Iterator[Stray]:
    """Keys in the environment that are not in use."""
    if method == "env":
        return
    present = [name for name in _KEYS if name in env]
    if settings.profile and settings.role_arn:
        why = "Spark assumes the role with these keys, all else with the profile; unset it"
    elif settings.profile:
        why = f"profile {settings.profile} comes first; other AWS tools use the keys"
    else:
        why = f"{_KEY} is missing"
    remedy = _UNSET_KEYS if settings.profile else f"Set {_KEY} as well, or unset {' and '.join(present)}."
    yield from (Stray(name, why, remedy) for name in present)


def _stray_profiles(settings: AwsSettings, method: str, env: Mapping[str, str]) -> Iterator[Stray]:
    """Profiles, web identities and roles of containers that other credentials override."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        if settings.profile and env.get(name, settings.profile) != settings.profile:
            yield Stray(name, f"the settings name profile {settings.profile}", f"Unset {name}.")
        elif not settings.profile and method == "env" and name in env:
            why = "keys in the environment come first; the profile only adds its settings"
            yield Stray(name, why, f"Unset {', '.join(_KEYS)} to use the profile, or unset {name}.")
    found = [name for name in _WEB_IDENTITY if name in env]
    if found and method != "assume-role-with-web-identity":
        if len(found) == 1:
            (absent,) = set(_WEB_IDENTITY) - set(found)
            why, remedy = f"the other one is missing: {absent}", f"Set {absent} too, or unset {found[0]}."
        else:
            why = "other credentials come first"
            remedy = "Unset the keys or the profile to use the web identity, or unset both of its variables."
        yield from (Stray(name, why, remedy) for name in found)
    if method == "env":
        for name in _CONTAINER:
            if name in env:
                why = "keys in the environment come before the container's role"
                yield Stray(name, why, f"Unset {', '.join(_KEYS)} to use the container's role.")
