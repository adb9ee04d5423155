"""The name and place of a table in AWS Glue."""

from __future__ import annotations

from typing import NamedTuple

#: The `catalog_type` of Glue's tables, on nodes and in Tableflow's sync statuses.
AWS_GLUE = "AWS_GLUE"

_SCHEME = "glue://"


def glue_table_name(topic: str) -> str:
    """The Glue table that Tableflow creates for a topic: dots kept, folded to lower case as Glue does."""
    return topic.lower()


class GluePlace(NamedTuple):
    """A table's database and name, spelled as in the graph, and its account and region if not at home.

    `away` is `{account}.{region}` for a table outside the home account and region, else empty.
    """

    database: str
    table: str
    away: str = ""

    @classmethod
    def parse(cls, qualified_name: str) -> GluePlace | None:
        """Parse `glue://{database}/{table}` or `glue://{account}.{region}/{database}/{table}`."""
        parts = qualified_name.removeprefix(_SCHEME).split("/")
        if len(parts) not in (2, 3) or not all(parts):
            return None
        *away, database, table = parts
        return cls(database, table, "".join(away))

    @property
    def is_home(self) -> bool:
        return not self.away

    @property
    def folded(self) -> GluePlace:
        """The place as Glue stores and compares it: in lower case."""
        return GluePlace(self.database.lower(), self.table.lower(), self.away)

    @property
    def qualified_name(self) -> str:
        return _SCHEME + "/".join(filter(None, (self.away, self.database, self.table)))

    @property
    def dotted(self) -> str:
        """`database.table`, as Athena writes it."""
        return f"{self.database}.{self.table}"
