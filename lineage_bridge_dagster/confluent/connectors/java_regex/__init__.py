"""Regular expressions of connector configurations, which run in a JVM.

They are Java's, or RE2/J's in Confluent Cloud's own routers. Here they are translated for the `regex` module,
which stops after a given time. Whatever cannot be translated with the same meaning is a `BadRegexError`.
"""

from lineage_bridge_dagster.confluent.connectors.java_regex.errors import BadRegexError, SlowRegexError
from lineage_bridge_dagster.confluent.connectors.java_regex.literals import is_literal, literal
from lineage_bridge_dagster.confluent.connectors.java_regex.pattern import (
    JavaRegex,
    compile_java,
    full_matches,
    replace_whole,
)

__all__ = [
    "BadRegexError",
    "JavaRegex",
    "SlowRegexError",
    "compile_java",
    "full_matches",
    "is_literal",
    "literal",
    "replace_whole",
]
