"""Keys of Confluent's managed connectors whose type is PASSWORD, and whose words alone do not tell it.

They are from the templates of Confluent's connect-migration-utility, with all of whose keys a test compares
them. Two are left out: `query`, since how SQL is shown is a setting, and `azblob.account.name`, which is part
of a dataset's name and in another template a plain text.
"""

from __future__ import annotations

#: In lower case, with dots for separators, without what is before the last of these in a longer key.
TEMPLATE_SECRETS = frozenset(
    {
        "aws.secret.key.id",
        "azure.search.client.id",
        "azure.search.subscription.id",
        "azure.search.tenant.id",
        "database.sslcert",
        "database.sslrootcert",
        "mq.tls.keystore.location",
        "mq.tls.truststore.location",
        "mqtt.username",
        "oauth2.client.headers",
        "oauth2.jwt.keystore.path",
        "redis.cacert",
        "redis.key.cert",
        "s3.sse.customer.key",
        "ssl.rootcertfile",
    }
)
