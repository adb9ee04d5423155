"""Refuses the fields that a Dagster resource does not have: Dagster itself ignores them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, model_validator

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.redaction.keys import is_secret_key
from lineage_bridge_dagster.text import did_you_mean


def _refuse_unknown(cls: type[BaseModel], values: Any) -> Any:
    for name in values if isinstance(values, dict) else ():
        if name not in cls.model_fields:
            if is_secret_key(name) or name.startswith("aws_"):
                hint = (
                    "Dagster's UI shows fields, so no key is one: AWS's come from its own credential chain, "
                    "others from LINEAGE_BRIDGE_* variables."
                )
            else:
                close = did_you_mean(name, cls.model_fields).strip()
                hint = close or f"The fields are {', '.join(cls.model_fields)}."
            raise ConfigurationError(f"{cls.__name__} has no field {name}.", hint=hint)
    return values


#: For a class: `_known = known_fields`. It raises ConfigurationError, and shows no value.
known_fields: Any = model_validator(mode="before")(classmethod(_refuse_unknown))  # type: ignore[arg-type]
