"""Oracle by LogMiner (Confluent).

Source: "Oracle CDC Source Connector for Confluent Platform", its configuration reference and examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.family import (
    SourceContext,
    WrittenTopic,
    named_for,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.table_patterns import (
    PatternExpansion,
    TableList,
    expand,
    odd_words,
)
from lineage_bridge_dagster.confluent.connectors.transforms.origins import Origins

_DEFAULT = "${databaseName}.${schemaName}.${tableName}"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_WORD = re.compile(r"[\w$#]+")
#: What no schema is called: what matches it in place of a schema matches any.
_ANY = "ANY_SCHEMA_AT_ALL"
_MOST_WORDS = 12
#: How topics spell the start of a common user's name, `C##`.
_COMMON_USER = "C__"

#: Database, schema and table, each empty if it is not known.
Path = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class TopicTemplate:
    """A template of topic names, such as `${databaseName}.${schemaName}.${tableName}`."""

    text: str

    def topic(self, path: Path, **more: str) -> str:
        """The topic of a table. A variable whose value is not known stays in it."""
        values = _values(path) | more
        return _VARIABLE.sub(lambda match: _cleaned(values.get(match[1]) or match[0]), self.text)

    def names(self, variable: str) -> bool:
        """Whether topics tell a variable."""
        return f"${{{variable}}}" in self._spelled

    def path(self, topic: str) -> Path | None:
        """The parts of a table's name that the topic tells; None if it is not the topic of a table."""
        pattern, seen = "", set()
        for number, part in enumerate(_VARIABLE.split(self._spelled)):
            if number % 2 == 0:
                pattern += re.escape(part)
            elif part in seen:
                pattern += f"(?P={part})"
            else:
                seen.add(part)
                # Topics spell names with letters, digits and underscores only.
                pattern += f"(?P<{part}>[A-Za-z0-9_]+)"
        match = re.fullmatch(pattern, topic)
        if match is None:
            return None
        found = match.groupdict()
        return found.get("databaseName", ""), found.get("schemaName", ""), found.get("tableName", "")

    @property
    def _spelled(self) -> str:
        return self.text.replace("${fullyQualifiedTableName}", _DEFAULT)


def _values(path: Path) -> dict[str, str]:
    names = dict(zip(("databaseName", "schemaName", "tableName"), path, strict=True))
    return names | {"fullyQualifiedTableName": ".".join(path) if all(path) else ""}


def _cleaned(name: str) -> str:
    """A name without the characters that a topic's name cannot have."""
    return name if name.startswith("${") else re.sub(r"[^A-Za-z0-9._-]", "_", name)


@source_family("oracle-cdc", "OracleCdcSource", "confluent:oracle.cdc.OracleCdcSourceConnector")
def oracle_cdc(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics by `table.topic.name.template`; the redo log topic is internal unless it is the only one."""
    yield from _Oracle(context).written()


@dataclass
class _Oracle:
    context: SourceContext

    def written(self) -> Iterator[WrittenTopic]:
        context, config = self.context, self.context.config
        redo = self._redo_topics()
        listed = self._spelled_out()
        if self._only_redo_log:
            existing = [topic for topic in redo if topic in context.cluster_topics]
            for path in listed:
                yield WrittenTopic((existing or redo)[0], self._dataset(path))
            return
        others = ("redo.log.corruption.topic", "heartbeat.topic.name")
        context.internal += [topic for topic in (*redo, *map(config.get, others)) if topic]
        for path in listed:
            yield WrittenTopic(self._topic(path), self._dataset(path))
        if self._expansion is None or not self._expansion.spelled:
            yield from self._matched()
        if config.get("lob.topic.name.template"):
            yield from self._large_objects()

    @cached_property
    def _template(self) -> TopicTemplate:
        return TopicTemplate(self.context.config.get("table.topic.name.template", default=_DEFAULT))

    @property
    def _only_redo_log(self) -> bool:
        """Whether tables have no topics of their own: their changes are in the redo log topic alone."""
        key = "table.topic.name.template"
        return key in self.context.connector.config and key not in self.context.config

    def _topic(self, path: Path) -> str:
        return self._template.topic(path, connectorName=self.context.connector.name)

    @cached_property
    def _include(self) -> str:
        return self.context.config.get("table.inclusion.regex")

    @cached_property
    def _expansion(self) -> PatternExpansion | None:
        return expand(self._include) if self._include else None

    @cached_property
    def _databases(self) -> list[str]:
        """The database of the tables: a pluggable one, if there is one."""
        keys = ("oracle.pdb.name", "oracle.sid", "oracle.service.name", "database.dbname")
        return [name for key in keys if (name := self.context.config.get(key))]

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """Names with characters that topics lack, by how topics spell them."""
        user = self.context.config.get("oracle.username").upper()
        return {_cleaned(word): word for word in odd_words([user, self._include])}

    def _redo_topics(self) -> list[str]:
        """The redo log topic, as a managed and as a self-managed connector name it."""
        default = "${connectorName}-${databaseName}-redo-log"
        template = TopicTemplate(self.context.config.get("redo.log.topic.name", default=default))
        names = [name for name in (self.context.connector.id, self.context.connector.name) if name]
        found = [
            template.topic((database, "", ""), connectorName=name)
            for name in names
            for database in self._databases or [""]
        ]
        return list(dict.fromkeys(found))

    def _spelled_out(self) -> list[Path]:
        """The tables that the expression spells out."""
        expansion = self._expansion
        if expansion is None or not expansion.spelled:
            return []
        default = self._databases[0] if self._databases else ""
        found: list[Path] = []
        for name in expansion.names:
            match name.split("."):
                case [database, schema, table]:
                    found.append((database, schema, table))
                case [schema, table]:
                    found.append((default, schema, table))
        if not found:
            self._warn(
                f"table.inclusion.regex {self._include} is not a qualified name, so it captures nothing"
            )
        if expansion.product:
            # Not all of these need to exist.
            found = [path for path in found if self._topic(path) in self.context.cluster_topics] or found
        return [path for path in found if not self._is_excluded(path)]

    def _matched(self) -> Iterator[WrittenTopic]:
        """The tables that topics tell."""
        template = self._template
        if not template.names("tableName"):
            self._warn(
                f"table.topic.name.template {template.text} names no table, "
                f"so the tables of {self._include} are not known"
            )
            if "${" not in template.text:
                yield WrittenTopic(template.text)
            return
        found = False
        for topic, path in self._existing(template):
            found = True
            yield named_for(topic, self._dataset(path))
        if not found:
            self._warn(f"table.inclusion.regex {self._include} matches no topic of the cluster")

    def _large_objects(self) -> Iterator[WrittenTopic]:
        """Topics of large objects, each of one column. They exist if any column is large."""
        template = TopicTemplate(self.context.config.get("lob.topic.name.template"))
        if template.names("tableName"):
            for topic, path in self._existing(template):
                yield named_for(topic, self._dataset(path))
        elif template.text in self.context.cluster_topics:
            yield WrittenTopic(template.text)

    def _existing(self, template: TopicTemplate) -> Iterator[tuple[str, Path]]:
        """The topics by a template as they are called before transforms, with their tables."""
        context = self.context
        origins = Origins(context.config, context.routing)
        for topic in context.cluster_topics:
            names = origins.of(topic, "") if context.routing else [topic]
            found = [
                (name, captured)
                for name in names
                if topic not in context.internal
                and (path := template.path(name)) is not None
                and (captured := self._captured(path)) is not None
            ]
            if len(found) == 1:
                yield found[0]

    def _captured(self, path: Path) -> Path | None:
        """A table that the expressions select, completed by what topics lack; None if they do not."""
        database, schema, table = path
        databases = [database] if database else self._databases or [""]
        if not self._include:
            found = (databases[0], self._spelled(schema), self._spelled(table))
            return None if self._is_excluded(found) else found
        words = list(dict.fromkeys(_WORD.findall(self._include)))[:_MOST_WORDS]
        anywhere = {name for db in databases for name in self._names((db, _ANY, table))}
        if not schema and self._inclusion.matches(anywhere):
            # Any schema may be meant.
            return databases[0], "", table
        schemas = dict.fromkeys((self._spelled(schema), schema)) if schema else words
        fits = [
            found
            for db in (databases if database else [*databases, *words])
            for owner in schemas
            for name in dict.fromkeys((self._spelled(table), table))
            if self._inclusion.matches(self._names(found := (db, owner, name)))
        ]
        fits = [path for path in fits if not self._is_excluded(path)]
        if len({path[1] for path in fits}) > 1 and not schema:
            return fits[0][0], "", table
        return fits[0] if fits else None

    def _spelled(self, name: str) -> str:
        return self._spellings.get(name, name)

    @cached_property
    def _inclusion(self) -> TableList:
        return TableList([self._include] if self._include else [], self.context.warnings)

    @cached_property
    def _exclusion(self) -> TableList:
        exclude = self.context.config.get("table.exclusion.regex")
        return TableList([exclude] if exclude else [], self.context.warnings)

    def _is_excluded(self, path: Path) -> bool:
        return self._exclusion.matches(self._names(path))

    @staticmethod
    def _names(path: Path) -> set[str]:
        return {".".join(path), ".".join(path[1:])} if path[1] else {path[2]}

    def _dataset(self, path: Path) -> str:
        database, schema, table = path
        if not schema or schema.startswith(_COMMON_USER):
            self._warn(f"the schema of {table} is not known: topics spell it {schema or 'not at all'}")
            return ""
        config = self.context.config
        return naming.ORACLE(
            host=config.get("oracle.server", "database.hostname"),
            port=config.get("oracle.port", "database.port"),
            service=database,
            schema=schema,
            table=table,
        )

    def _warn(self, text: str) -> None:
        self.context.warnings.append(text)
