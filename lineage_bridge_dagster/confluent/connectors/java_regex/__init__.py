"""Regular expressions of connector configurations, evaluated by the JVM that they are meant for.

`jvm.py` runs it, in a small process beside this one that starts with the first expression. Each function here
asks it at once, but within `evaluated`, which takes any number of connectors, their questions reach it in
batches. Expressions of RE2/J, as in Confluent Cloud's own routers, are read as Java's (`of_re2`).
"""

from lineage_bridge_dagster.confluent.connectors.java_regex.groups import (
    BadRegexError,
    SlowRegexError,
    capturing_groups,
    is_literal,
    literal,
    of_re2,
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
    "capturing_groups",
    "check",
    "evaluated",
    "finds",
    "full_matches",
    "is_literal",
    "literal",
    "matched_groups",
    "of_re2",
    "replace_whole",
    "replacement_parts",
]
