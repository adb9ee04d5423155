"""Regular expressions of connector configurations, evaluated by the JVM that they are meant for.

They are Java's, or RE2/J's in Confluent Cloud's own routers. `jvm.py` runs both libraries, in a small process
beside this one that starts with the first expression. Each function here asks it at once, but within
`evaluated`, which takes any number of connectors, their questions reach it in batches.
"""

from lineage_bridge_dagster.confluent.connectors.java_regex.groups import (
    BadRegexError,
    SlowRegexError,
    Syntax,
    capturing_groups,
    is_literal,
    literal,
    replacement_parts,
)
from lineage_bridge_dagster.confluent.connectors.java_regex.patterns import (
    check,
    evaluated,
    finds,
    full_matches,
    matched_groups,
    replace_whole,
)

__all__ = [
    "BadRegexError",
    "SlowRegexError",
    "Syntax",
    "capturing_groups",
    "check",
    "evaluated",
    "finds",
    "full_matches",
    "is_literal",
    "literal",
    "matched_groups",
    "replace_whole",
    "replacement_parts",
]
