"""Configurations of connectors and schemas that a user gives as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.json_record import JsonRecord
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, PROTOBUF, RegisteredSchema


def settings_of(config: object, name: str) -> dict[str, str]:
    """The settings of a configuration that a user gives, as Connect reads them from JSON, without null.

    Raises:
        ConfigurationError: It is not an object of strings, numbers and booleans. The message uses `name`.
    """
    if not isinstance(config, Mapping):
        raise ConfigurationError(
            f"{name} holds no configuration of a connector.",
            hint="Give a JSON object of its settings, as GET /connectors/{name}/config returns it.",
        )
    for key, value in config.items():
        if isinstance(value, Mapping | list):
            raise ConfigurationError(
                f"{name}: the setting {key} is no text.", hint=f'Write "{key}": "a,b", as Connect takes it.'
            )
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in config.items()
        if value is not None
    }


def given_schema(record: JsonRecord, number: int = 0) -> RegisteredSchema:
    """A schema that is an object with `schema` and any of `id`, `version`, `type` and `references`.

    Raises:
        ConfigurationError: It has another form.
    """
    version = record.count("version")
    references = ((each.required("name"), each.required("schema")) for each in record.records("references"))
    return RegisteredSchema(
        record.count("id") or number,
        record.required("schema", "the text of the schema"),
        record.choice("type", [AVRO, JSON, PROTOBUF], AVRO),
        1 if version is None else version,
        tuple(references),
    )
