"""Which AWS identity the settings give, where its credentials come from, and which variables have no say.

The order in which boto3 looks for credentials is that of botocore's `create_credential_resolver`; Spark's AWS
SDK for Java is configured to follow it (`catalog_properties`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.config.aws import aws_session, base_session, client_config
from lineage_bridge_dagster.config.settings import AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError

_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_WEB_IDENTITY = ("AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE")

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
}


@dataclass(frozen=True, slots=True)
class Stray:
    """A variable that looks as if it decided about the identity, and does not, or not everywhere."""

    variable: str
    why: str

    def __str__(self) -> str:
        return f"{self.variable}: {self.why}"


@dataclass(frozen=True, slots=True)
class AwsIdentity:
    """The identity in use. It holds no credential.

    Attributes:
        region: of Glue.
        source: where the credentials come from, as a phrase; empty if there are none.
        method: the same by botocore's name, such as `env` or `sso`.
        role_arn: the role that is assumed with them.
        strays: variables that have no say, or another one than they seem to.
    """

    region: str
    source: str
    method: str
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


def identity_of(settings: AwsSettings, env: Mapping[str, str] | None = None) -> AwsIdentity:
    """Find out what the settings and AWS's own variables and files amount to; AWS is not asked.

    Without other credentials, the metadata services of EC2 and containers are asked, which may take seconds.

    Args:
        settings: the settings in force.
        env: the variables; by default the environment's. boto3 itself always reads those.

    Raises:
        ConfigurationError: no region, or an unknown profile.
    """
    env = os.environ if env is None else env
    session = base_session(settings)
    try:
        credentials = session.get_credentials()
    except BotoCoreError as error:
        raise ConfigurationError(
            f"The AWS credentials could not be read: {error}",
            hint="Set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or neither, and check the profile.",
        ) from error
    method = str(credentials.method) if credentials else ""
    profile = settings.profile or env.get("AWS_PROFILE") or env.get("AWS_DEFAULT_PROFILE") or "default"
    source = _SOURCES.get(method, method).format(profile=profile)
    region = settings.region or session.region_name or ""
    strays = tuple(_strays(settings, method, region, {k: v for k, v in env.items() if v}))
    return AwsIdentity(region, source, method, settings.role_arn, strays)


def caller_of(settings: AwsSettings) -> Caller:
    """Ask STS who the caller is. It needs no permission.

    Raises:
        ConfigurationError: no region, an unknown profile, or AWS did not accept the credentials.
    """
    try:
        sts = aws_session(settings).client("sts", region_name=settings.region, config=client_config(1))
        answer = sts.get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        raise ConfigurationError(
            f"AWS did not say who the caller is: {error}",
            hint="Renew the credentials (`aws sso login`, new keys), or set LINEAGE_BRIDGE_AWS_PROFILE to a "
            "profile with others.",
        ) from error
    return Caller(answer["Account"], answer["Arn"])


def _strays(settings: AwsSettings, method: str, region: str, env: Mapping[str, str]) -> Iterator[Stray]:
    yield from _stray_keys(settings, method, env)
    if settings.profile and env.get("AWS_PROFILE", settings.profile) != settings.profile:
        yield Stray("AWS_PROFILE", f"the settings name profile {settings.profile}")
    elif not settings.profile and method == "env" and "AWS_PROFILE" in env:
        yield Stray("AWS_PROFILE", "keys in the environment come first; the profile only adds its settings")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        if env.get(name, region) != region:
            yield Stray(name, f"the region in use is {region}")
    if settings.endpoint_url:
        for name in ("AWS_ENDPOINT_URL_GLUE", "AWS_ENDPOINT_URL"):
            if env.get(name, settings.endpoint_url) != settings.endpoint_url:
                yield Stray(name, f"the settings name {settings.endpoint_url} for Glue")
    if env.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true" and any(
        name.startswith("AWS_ENDPOINT_URL") for name in env
    ):
        yield Stray("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "boto3 obeys it, Spark does not")


def _stray_keys(settings: AwsSettings, method: str, env: Mapping[str, str]) -> Iterator[Stray]:
    present = [name for name in _KEYS if name in env]
    if method == "env":
        if env.get(_KEYS[0], "").startswith("AKIA") and _KEYS[2] in env:
            yield Stray(_KEYS[2], "it does not belong to the long-term key in AWS_ACCESS_KEY_ID; unset it")
    elif settings.profile and settings.role_arn:
        for name in present:
            yield Stray(name, "Spark assumes the role with these keys, all else with the profile; unset it")
    else:
        why = f"profile {settings.profile} comes first" if settings.profile else f"{_KEYS[0]} is missing"
        yield from (Stray(name, why) for name in present)
    if method != "assume-role-with-web-identity":
        found = [name for name in _WEB_IDENTITY if name in env]
        why = "other credentials come first" if len(found) == 2 and method else "the other one is missing"
        yield from (Stray(name, why) for name in found)
