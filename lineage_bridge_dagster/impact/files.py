"""GivenChanges as teams have them: files of schemas, SQL and configurations, Terraform plans, JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.impact.change import (
    Change,
    ConnectorChange,
    DropColumn,
    SchemaChange,
    StatementChange,
    change_of_json,
)
from lineage_bridge_dagster.impact.report import ImpactGap
from lineage_bridge_dagster.impact.terraform import terraform_plan
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef, World
from lineage_bridge_dagster.lineage.files import read_json, read_text
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, PROTOBUF, RegisteredSchema, SubjectSchemas

_TYPES = {".avsc": AVRO, ".avro": AVRO, ".proto": PROTOBUF, ".json": JSON, ".jsonschema": JSON}
_PLAN = "terraform_plan"


@dataclass
class GivenChanges:
    """GivenChanges that are made together.

    Attributes:
        changes: The changes, in order.
        gaps: Changes that are not assessed.
        files: The files that hold them.
    """

    changes: list[Change] = field(default_factory=list)
    gaps: list[ImpactGap] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def add_document(self, document: Mapping[str, Any]) -> None:
        """Add a change in the form of `change_of_json`, or `{"kind": "terraform_plan", "plan": ...}`.

        Raises:
            LineageBridgeError: It has another form.
        """
        if document.get("kind") == _PLAN:
            self.add_plan(document.get("plan") or {})
        else:
            self.changes.append(change_of_json(document))

    def add_plan(self, document: Mapping[str, Any]) -> None:
        """Add what `terraform show -json` prints.

        Raises:
            LineageBridgeError: It prints something else.
        """
        plan = terraform_plan(document)
        self.changes += plan.changes
        self.gaps += plan.gaps

    def add_change_file(self, path: Path) -> None:
        """Add a JSON file: a change, a list of them, or an object that has one under `change`."""
        document = read_json(path)
        if isinstance(document, Mapping):
            document = document.get("change", document)
        for each in document if isinstance(document, list) else [document]:
            if not isinstance(each, Mapping):
                raise ConfigurationError(f"{path} is not a change: {each!r}.", hint="Give a JSON object.")
            self.add_document(each)
        self.files.append(str(path))

    def add_plan_file(self, path: Path) -> None:
        """Add a Terraform plan as JSON."""
        document = read_json(path)
        self.add_plan(document if isinstance(document, Mapping) else {})
        self.files.append(str(path))

    def add_schema_file(self, path: Path, subject: str, references: Mapping[str, Path]) -> None:
        """Add a file as the next version of a subject.

        Args:
            path: As `schema_of` reads it.
            subject: The subject.
            references: The schemas that it imports, by the names under which it does.
        """
        texts = tuple((name, read_text(file)) for name, file in references.items())
        self.changes.append(SchemaChange(subject, *schema_of(path), texts))
        self.files.append(str(path))

    def add_statement_file(self, name: str, path: Path) -> None:
        """Add a file as the new SQL of a statement."""
        self.changes.append(StatementChange(name, read_text(path)))
        self.files.append(str(path))

    def add_connector_file(self, name: str, path: Path) -> None:
        """Add a file as the new configuration of a connector: the settings, or an object with `config`."""
        document = read_json(path)
        config = document.get("config", document) if isinstance(document, Mapping) else None
        if not isinstance(config, Mapping) or any(
            isinstance(each, Mapping | list) for each in config.values()
        ):
            raise ConfigurationError(
                f"{path} holds no configuration of a connector.",
                hint="Give a JSON object of its settings, as GET /connectors/{name}/config returns it.",
            )
        settings = {str(key): _setting(value) for key, value in config.items()}
        self.changes.append(ConnectorChange(name, settings))
        self.files.append(str(path))

    def add_drop(self, text: str) -> None:
        """Add `kind:name`, or `dataset:name#column` and `glue:name#column` for a column.

        Raises:
            ConfigurationError: It is not a node.
        """
        kind, separator, name = text.partition(":")
        if not separator or not name:
            raise ConfigurationError(
                f"{text!r} does not name anything to drop.",
                hint=f"Write kind:name; kinds: {', '.join(NodeKind)}.",
            )
        if kind in (NodeKind.DATASET, NodeKind.GLUE) and "#" in name:
            node, _, column = name.rpartition("#")
            self.changes.append(DropColumn(NodeRef(NodeKind(kind), node), column))
        else:
            self.add_document({"kind": "drop", "what": kind, "name": name})


def read_case(document: object) -> tuple[World, GivenChanges]:
    """Read an object with `world` and `change`.

    Raises:
        LineageBridgeError: It has another form.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("world"), Mapping):
        raise LineageBridgeError("It has no `world`.", hint='Give {"world": {...}, "change": {...}}.')
    changes = GivenChanges()
    changes.add_document(document.get("change") or {})
    return World.of_json(document["world"]), changes


def read_schema(path: Path, subject: str) -> SubjectSchemas:
    """A subject whose only version is a file, as `schema_of` reads it."""
    text, kind = schema_of(path)
    return SubjectSchemas(subject, (RegisteredSchema(0, text, kind, version=1),))


def schema_of(path: Path) -> tuple[str, str]:
    """The text of a schema and its type.

    Args:
        path: A schema, whose type follows from the file's name (a `.json` file may hold an Avro schema, too),
            or what a registry answers for a version: `GET /subjects/{subject}/versions/{version}`.

    Raises:
        ConfigurationError: It cannot be read, or its name tells no type.
    """
    text = read_text(path)
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if isinstance(document, Mapping):
        if isinstance(document.get("schema"), str) and {"id", "version"} & document.keys():
            return document["schema"], str(document.get("schemaType") or AVRO)
        if path.suffix.lower() == ".json" and document.get("type") in ("record", "enum", "fixed"):
            return text, AVRO
    found = _TYPES.get(path.suffix.lower())
    if found is None:
        raise ConfigurationError(
            f"The name of {path} tells no type of schema.", hint="Name it .avsc, .proto or .json."
        )
    return text, found


def _setting(value: object) -> str:
    """A setting as Connect reads it from JSON."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
