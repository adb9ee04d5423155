"""Who we are to AWS: where the credentials come from, whose they are, and whose catalog is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound

from lineage_bridge_dagster.config.aws import profile_session
from lineage_bridge_dagster.doctor.context import Context
from lineage_bridge_dagster.doctor.finding import Result, failed, ok, warning
from lineage_bridge_dagster.doctor.refusals import glue_failure
from lineage_bridge_dagster.glue.errors import translate

#: botocore's name of each credential provider, as text.
_SOURCES = {
    "env": "environment variables",
    "shared-credentials-file": "the shared credentials file",
    "config-file": "the AWS configuration file",
    "assume-role": "a role that a profile assumes",
    "assume-role-with-web-identity": "a web identity token (AWS_WEB_IDENTITY_TOKEN_FILE)",
    "sso": "IAM Identity Center (SSO)",
    "custom-process": "the credential process of a profile",
    "login": "`aws login`",
    "container-role": "the role of the container (ECS or EKS)",
    "iam-role": "the role of the EC2 instance",
    "boto2-config": "a configuration file of boto 2",
}
_KEY, _SECRET, _TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
#: Variables of other credentials, which keys in the environment override.
_OVERRIDDEN = {
    "AWS_PROFILE": "the profile of AWS_PROFILE",
    "AWS_DEFAULT_PROFILE": "the profile of AWS_DEFAULT_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "the web identity of AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "the container's role",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "the container's role",
}


def credentials(context: Context) -> Iterator[Result]:
    """The source of the credentials, and keys in the environment that nobody may have meant."""
    yield _source(context)
    yield from stray_keys(context.variables, context.aws.profile, context.dotenv)


def _source(context: Context) -> Result:
    tried = "Looked for AWS credentials in boto3's order."
    aws = context.aws
    try:
        found = profile_session(aws).get_credentials()
    except ProfileNotFound:
        return failed(
            tried,
            f"The AWS profile {aws.profile!r} is not configured.",
            "Correct LINEAGE_BRIDGE_AWS_PROFILE (or AWS_PROFILE), or add it with `aws configure --profile`.",
        )
    except BotoCoreError as error:
        return failed(
            tried,
            str(error),
            "Sign in again (`aws sso login`), or correct the variable or the profile that is named.",
        )
    if found is None:
        return failed(
            tried,
            "There are no AWS credentials.",
            f"Set {_KEY} and {_SECRET}, or LINEAGE_BRIDGE_AWS_PROFILE, or run where a role provides them.",
        )
    key = str(found.access_key)
    source = _SOURCES.get(str(found.method), str(found.method))
    if found.method == "env" and _from_dotenv(context.variables, context.dotenv):
        source = "variables in the .env file"
    text = f"They come from {source}; the access key ends in ...{key[-4:]}."
    profile = aws.profile or context.variables.get("AWS_PROFILE")
    if profile and found.method != "env":
        text += f" Profile: {profile}."
    if aws.role_arn:
        text += f" They are used to assume {aws.role_arn}."
    return ok(tried, text)


def stray_keys(
    variables: Mapping[str, str], profile: str | None, dotenv: Mapping[str, str]
) -> Iterator[Result]:
    """What is wrong with the keys in the environment, and what they override."""
    key, secret, token = (variables.get(name, "") for name in (_KEY, _SECRET, _TOKEN))
    tried = "Looked for AWS keys in the environment and in .env."
    if not (key or secret or token):
        yield ok(tried, "There are none.")
        return
    where = "the .env file" if _from_dotenv(variables, dotenv) else "the environment"
    others = list(dict.fromkeys(text for name, text in _OVERRIDDEN.items() if variables.get(name)))
    if profile:
        yield warning(
            tried,
            f"{_KEY} is set in {where}, but LINEAGE_BRIDGE_AWS_PROFILE names the profile {profile!r}, which "
            "is used instead. Other AWS tools, and processes without that variable, use the key.",
            f"Unset {_KEY}, {_SECRET} and {_TOKEN}, so that everything here has one identity.",
        )
    elif others and key:
        yield warning(
            tried,
            f"{_KEY} is set in {where} and overrides {' and '.join(others)}.",
            f"Unset {_KEY}, {_SECRET} and {_TOKEN} to use {others[0]}, or unset the other variable.",
        )
    yield from _broken_keys(key, secret, token, tried)


def _broken_keys(key: str, secret: str, token: str, tried: str) -> Iterator[Result]:
    padded = [
        name for name, text in ((_KEY, key), (_SECRET, secret), (_TOKEN, token)) if text != text.strip()
    ]
    if bool(key) != bool(secret):
        present, absent = (_KEY, _SECRET) if key else (_SECRET, _KEY)
        yield failed(
            tried, f"{present} is set but {absent} is not.", f"Set {absent} too, or unset {present}."
        )
    elif token and not key:
        yield failed(tried, f"{_TOKEN} is set without a key.", f"Unset {_TOKEN}, or set the key it is for.")
    elif key.startswith("ASIA") and not token:
        yield failed(
            tried,
            f"The key in {_KEY} is a temporary one, and {_TOKEN} is not set.",
            f"Set {_TOKEN} as well; it comes with the key.",
        )
    elif key.startswith("AKIA") and token:
        yield failed(
            tried,
            f"The key in {_KEY} is a long-term one, and {_TOKEN} is left over from another session.",
            f"Unset {_TOKEN}.",
        )
    elif padded:
        yield failed(tried, f"{', '.join(padded)} has spaces at its ends.", "Remove them.")
    else:
        yield ok(tried, f"The key and the secret belong together as far as their form tells{_with(token)}.")


def _with(token: str) -> str:
    return ", and there is a session token" if token else ""


def _from_dotenv(variables: Mapping[str, str], dotenv: Mapping[str, str]) -> bool:
    return bool(dotenv.get(_KEY)) and dotenv.get(_KEY) == variables.get(_KEY)


def identity(context: Context) -> Iterator[Result]:
    """The caller's ARN and account."""
    tried = f"sts:GetCallerIdentity in {context.region}."
    try:
        answer = context.client("sts").get_caller_identity()
    except (ClientError, BotoCoreError) as error:
        found = translate(error, action="sts:GetCallerIdentity", where="the caller")
        remedy = found.hint.replace("Glue endpoint", "STS endpoint")
        yield failed(tried, found.message, remedy or "Check the credentials (see aws.credentials).")
        return
    yield ok(tried, f"We are {answer['Arn']} in account {answer['Account']}.")


def account(context: Context) -> Iterator[Result]:
    """Whether the catalog's account is the caller's, and the one whose tables were discovered."""
    own = str(context.client("sts").get_caller_identity()["Account"])
    catalog = context.aws.catalog_id or own
    tried = f"Compared the caller's account {own} with the catalog's {catalog}."
    if not (len(catalog) == 12 and catalog.isdigit()):
        yield failed(
            tried,
            "The catalog id is no account id.",
            "Set LINEAGE_BRIDGE_AWS_CATALOG_ID to the 12 digits of an account, in quotes in YAML.",
        )
        return
    if catalog != own:
        try:
            context.glue().get_databases(CatalogId=catalog, MaxResults=1)
        except (ClientError, BotoCoreError) as error:
            refused = glue_failure(error, "glue:GetDatabases", f"catalog {catalog}", context.region, tried)
            yield failed(
                tried,
                f"The catalog is another account's, and does not answer: {refused.result}",
                "If it is the wrong account, unset LINEAGE_BRIDGE_AWS_CATALOG_ID. If it is right, its owner "
                "must share it: a Glue resource policy (or Lake Formation grants) for "
                f"arn:aws:iam::{own}:root, besides this identity's own policy.",
            )
            return
        yield ok(tried, "The catalog is another account's, and it answers.")
    yield from _discovered_accounts(context, catalog, tried)


def _discovered_accounts(context: Context, catalog: str, tried: str) -> Iterator[Result]:
    """The account of the catalog that the last discovery read."""
    others = sorted({table.text("catalog_id") for table in context.tables()} - {"", catalog})
    if others:
        yield failed(
            tried,
            f"The last discovery read tables of account {', '.join(others)}, so these credentials are for "
            "another account than those of the discovery.",
            "Use credentials of that account, or set LINEAGE_BRIDGE_AWS_CATALOG_ID or _AWS_ROLE_ARN; if the "
            "account changed on purpose, run the `refresh` job.",
        )
    elif catalog == context.aws.catalog_id or context.aws.catalog_id is None:
        yield ok(tried, "They agree.")
