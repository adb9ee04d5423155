r"""RE2/J as Confluent Cloud's own routers have it, for the version that Hadoop's client contains.

That version, 1.1, knows neither `(?<name>...)` nor `${name}`. Where it differs from later ones in what an
expression means, the expression is refused.
"""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors.java_regex.groups import (
    RE2_CLASS,
    BadRegexError,
    brackets,
    capturing_groups,
    replacement_parts,
)

_QUANTIFIED_QUOTE = re.compile(r"\\E[*+?{]")
_CLASS = re.compile(rf"\\\\|{RE2_CLASS}", re.DOTALL)
_ASSERTION = re.compile(r"[$^]|\\[AzbB]")


def for_version_1_1(pattern: str, replacement: str) -> tuple[str, str]:
    """An expression and its replacement in the syntax of that version.

    Raises:
        BadRegexError: Versions differ in its meaning, or the replacement names a group that it lacks.
    """
    if _QUANTIFIED_QUOTE.search(pattern):
        raise BadRegexError(
            f"{pattern[:200]!r}: versions of RE2/J differ in what a quantifier after \\E means"
        )
    groups = capturing_groups(pattern, "re2")
    parts = replacement_parts(replacement, groups)
    for part in parts:
        if isinstance(part, int) and part and _ASSERTION.search(_CLASS.sub("", groups[part][1])):
            # 1.1 keeps what a group captured before an assertion in it failed.
            raise BadRegexError(f"{replacement!r} names group {part}, whose text versions of RE2/J differ in")
    named = [step.start() for step in brackets(pattern, "re2") if step[0].startswith("(?<")]
    for start in reversed(named):
        pattern = f"{pattern[: start + 2]}P{pattern[start + 2 :]}"
    texts = (f"${part}" if isinstance(part, int) else re.sub("(?s)(.)", r"\\\1", part) for part in parts)
    return pattern, "".join(texts)
