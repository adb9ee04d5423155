"""Views as the engines store them in Glue."""

from __future__ import annotations

import base64
import json
from typing import Any


def athena_view(sql: str, schema: str = "sales") -> dict[str, Any]:
    """The fields of a `TableInput` of a view of Athena: Base64 of a JSON document in a comment."""
    document = {"originalSql": sql, "catalog": "awsdatacatalog", "schema": schema, "columns": []}
    encoded = base64.b64encode(json.dumps(document).encode()).decode()
    return {
        "TableType": "VIRTUAL_VIEW",
        "ViewOriginalText": f"/* Presto View: {encoded} */",
        "ViewExpandedText": "/* Presto View */",
    }


def spark_view(sql: str, namespace: str = "sales") -> dict[str, Any]:
    """The fields of a view of Spark: text, with the catalog and namespace in parameters."""
    return {
        "TableType": "VIRTUAL_VIEW",
        "ViewOriginalText": sql,
        "ViewExpandedText": sql,
        "Parameters": {
            "spark.sql.create.version": "4.0.1",
            "view.catalogAndNamespace.numParts": "2",
            "view.catalogAndNamespace.part.0": "spark_catalog",
            "view.catalogAndNamespace.part.1": namespace,
        },
    }
