from __future__ import annotations

import pytest

from lineage_bridge_dagster.redaction.keys import TEMPLATE_SECRETS, is_secret_key
from lineage_bridge_dagster_tests.secret_cases import connector_keys


@pytest.mark.parametrize(
    "key",
    [
        "connection.password",
        "database.password",
        "sasl.jaas.config",
        "properties.sasl.jaas.config",
        "aws.secret-key",
        "aws.secret.access.key",
        "aws.access.key.id",
        "s3.access-key",
        "kafka.api.key",
        "kafka.api.secret",
        "api_key",
        "apiKey",
        "api-key",
        "azblob.account.key",
        "gcs.credentials.json",
        "gcs.credentials.config",
        "keyfile",
        "bigquery.keyfile",
        "snowflake.private.key",
        "snowflake.private.key.passphrase",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "splunk.hec.token",
        "github.access.token",
        "authToken",
        "salesforce.consumer.key",
        "salesforce.password.token",
        "basic.auth.user.info",
        "schema.registry.basic.auth.user.info",
        "connect.cosmos.master.key",
        "azure.eventhubs.sas.key",
        "datadog.api.key",
        "newrelic.license.key",
        "dbPassword",
        "MYSQL_PWD",
        "connection.sslkey",
        "redis.ssl.keystore.file",
        "ssl.keystorefile",
    ],
)
def test_key_is_secret(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize(
    "key",
    [
        "topics",
        "topics.regex",
        "kafka.topic",
        "key.converter",
        "value.converter",
        "key.format",
        "key.fields",
        "primary key",
        "message.key.columns",
        "s3.region",
        "s3.bucket.name",
        "connection.host",
        "db.name",
        "aws.credentials.provider",
        "aws.credentials.provider.class",
        "basic.auth.credentials.source",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "scan.startup.mode",
        "partition.key",
        "foreign key",
        "kafka.auth.mode",
        "azure.eventhubs.sas.keyname",
        "tasks.max",
        "",
        "key",
        "rabbitmq.exchange.routing.key",
        "password.policy",
    ],
)
def test_key_is_not_secret(key: str) -> None:
    assert not is_secret_key(key)


def test_keys_that_connectors_have_as_passwords_are_secret() -> None:
    passwords, _ = connector_keys()

    # An account is part of a dataset's name, and how a query is shown is a setting of its own.
    assert [key for key in passwords if not is_secret_key(key)] == ["azblob.account.name", "query"]


def test_keys_that_connectors_have_as_other_types_are_not_secret() -> None:
    _, others = connector_keys()

    assert [key for key in others if is_secret_key(key)] == []


def test_template_secrets_are_those_that_their_words_do_not_tell() -> None:
    passwords, _ = connector_keys()
    names = {key.lower().replace("-", ".").replace("_", ".") for key in passwords}

    assert names >= TEMPLATE_SECRETS
