"""What to do about the error of a catalog, by the message of the service behind it."""

from __future__ import annotations

import re

from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import KEY_VARIABLES

#: What a message has in it, and what to do then. The messages are AWS's for SigV4, and those of OAuth2 (RFC
#: 6749, RFC 6750) for tokens.
_HINTS = (
    (
        r"sends clients to another host",
        "Correct the uri of the catalog, and oauth2_server_uri if tokens come from another host.",
    ),
    (r"Signature expired|not yet current", "Correct this machine's clock: AWS accepts five minutes off."),
    (r"scoped to correct service: '(\w+)'", r"Set signing_name of the catalog to \1, or leave it out."),
    (r"scoped to a valid region", "Set signing_region of the catalog, or AWS_REGION, to its region."),
    (r"signature we calculated", "Correct AWS_SECRET_ACCESS_KEY, which is not that of AWS_ACCESS_KEY_ID."),
    (r"token included in the request is expired|ExpiredToken", "Sign in again: the AWS session ended."),
    (r"token included in the request is invalid", "Correct AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN."),
    (r"requires 'Credential' parameter|Missing Authentication Token", "Set signing_name of the catalog."),
    (r"invalid_client", "Correct the client credentials in the catalog's credential_variable: id:secret."),
    (r"invalid_scope", "Set scope of the catalog to one that its server grants, such as catalog."),
    (r"token\b.*\bexpired|NotAuthorized", "Set credential_variable in place of a token, which ends."),
    (r"Catalog .* not found", "Correct warehouse of the catalog."),
    (r"read-only", "Write to another catalog: set lineage_bridge/catalog in the asset's metadata."),
    (r"AccessDenied|not authorized|Forbidden", "Allow the use of the catalog in IAM and Lake Formation."),
    (
        r"refused|timed out|timeout|resolve|UnknownHost|unreachable|processing \w+ request",
        "Check uri of the catalog, and the network to it.",
    ),
)

#: The same for Tableflow's own catalogs, which know neither IAM nor a warehouse.
_TABLEFLOW_HINTS = (
    _HINTS[0],
    (
        r"invalid_client|invalid_grant|401|Unauthorized|NotAuthorized|expired",
        f"Correct {KEY_VARIABLES}: a Tableflow API key that is not deleted. If it is one of another region "
        "or organization, create one in this catalog's.",
    ),
    (
        r"AccessDenied|not authorized|Forbidden|403",
        f"Grant the owner of the key in {KEY_VARIABLES} a role that reads the topics, such as DeveloperRead.",
    ),
    (
        r"NotFound|404",
        "Correct the uri of the catalog, or leave it out: it has organization, environment and region in it.",
    ),
)

_OTHERWISE = "Check uri, warehouse and credentials of the catalog, and try again later."


def hint_of(message: str, *, tableflow: bool = False) -> str:
    """What to do about an error with this message of a catalog, which may be Tableflow's own.

    >>> hint_of("Credential should be scoped to correct service: 'glue'.")
    'Set signing_name of the catalog to glue, or leave it out.'
    >>> hint_of("Connection refused")
    'Check uri of the catalog, and the network to it.'
    """
    for pattern, hint in (*(_TABLEFLOW_HINTS if tableflow else ()), *_HINTS):
        if found := re.search(pattern, message, re.IGNORECASE | re.DOTALL):
            return found.expand(hint)
    return _OTHERWISE
