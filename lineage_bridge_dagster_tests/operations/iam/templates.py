"""What CloudFormation's linter makes of a template."""

from __future__ import annotations

import re

_PREVIEW = re.compile(
    r"'(batchgetiterableforms|(delete|put)attachment|getasset|searchassets|\w+formtype)' is not"
)


def problems(template: str) -> list[str]:
    """What the linter says, with the actions and resources that IAM's reference has for them."""
    # Its import takes a second, which every worker would spend to collect the tests.
    from cfnlint.api import lint_all

    # I4010 asks for a description of the architecture, and W3037 does not know previews.
    return [
        str(match)
        for match in lint_all(template)
        if match.rule.id != "I4010" and not (match.rule.id == "W3037" and _PREVIEW.search(str(match)))
    ]
