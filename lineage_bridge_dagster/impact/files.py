"""GivenChanges as teams have them: files of schemas, SQL and configurations, Terraform plans, JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lineage_bridge_dagster.confluent.given_documents import settings_of
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.impact.change import (
    DROPS,
    Change,
    ConnectorChange,
    DropColumn,
    SchemaChange,
    StatementChange,
    change_of_json,
)
from lineage_bridge_dagster.impact.report import ImpactGap
from lineage_bridge_dagster.impact.terraform import HOW_TO_WRITE_A_PLAN, terraform_plan
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef, World
from lineage_bridge_dagster.json_text import json_of
from lineage_bridge_dagster.lineage.files import read_json, read_text
from lineage_bridge_dagster.lineage.json_record import JsonRecord
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

    def add_document(self, document: object, name: str = "the change") -> None:
        """Add a change in the form of `change_of_json`, or `{"kind": "terraform_plan", "plan": ...}`.

        Raises:
            LineageBridgeError: It has another form.
        """
        if isinstance(document, Mapping) and document.get("kind") == _PLAN:
            self.add_plan(document.get("plan"), name)
        else:
            self.changes.append(change_of_json(document, name))

    def add_plan(self, document: object, name: str) -> None:
        """Add what `terraform show -json` prints.

        Raises:
            LineageBridgeError: It prints something else.
        """
        plan = terraform_plan(document, name)
        self.changes += plan.changes
        self.gaps += plan.gaps

    def add_change_file(self, path: Path) -> None:
        """Add a JSON file: a change, a list of them, or an object that has one under `change`."""
        document = read_json(path, "Give a change, or a list of changes.")
        if isinstance(document, Mapping):
            document = document.get("change", document)
        for each in document if isinstance(document, list) else [document]:
            self.add_document(each, str(path))
        self.files.append(str(path))

    def add_plan_file(self, path: Path) -> None:
        """Add a Terraform plan as JSON."""
        self.add_plan(read_json(path, HOW_TO_WRITE_A_PLAN), str(path))
        self.files.append(str(path))

    def add_schema_file(self, path: Path, subject: str, references: Mapping[str, Path]) -> None:
        """Add a file as the next version of a subject.

        Args:
            path: As `schema_of` reads it.
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
        document = read_json(path, "Give a JSON object of the connector's settings.")
        config = document.get("config", document) if isinstance(document, Mapping) else document
        self.changes.append(ConnectorChange(name, settings_of(config, str(path))))
        self.files.append(str(path))

    def add_drop(self, text: str) -> None:
        """Add `kind:name`, or `dataset:name#column` and `glue:name#column` for a column.

        Raises:
            ConfigurationError: It is not a node.
        """
        kind, _, name = text.partition(":")
        if kind not in DROPS or not name:
            raise ConfigurationError(
                f"{text!r} does not name anything to drop.",
                hint=f"Write kind:name; kinds: {', '.join(DROPS)}.",
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
    given = JsonRecord(document, "", "the line")
    changes = GivenChanges()
    changes.add_document(given.required_mapping("change"))
    return World.of_json(given.required_mapping("world"), "its world"), changes


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
    if document := json_of(text, dict):
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
