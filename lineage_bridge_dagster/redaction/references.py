"""Recognizing stand-ins for secrets, which need no mask: names of secrets stored elsewhere, and masks.

Who reads a lineage needs to know where a password comes from, and a reference tells nothing of its value.
"""

from __future__ import annotations

import re

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
