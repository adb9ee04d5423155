"""What transforms do to the fields of records: modules by their makers.

A transform is a function from record to record, declared for its classes with `transform` or
`side_transform`. Every module here is read.
"""

from importlib import import_module
from pkgutil import iter_modules

from lineage_bridge_dagster.confluent.connectors.columns.transforms.chain import (
    keeps_values,
    transformed,
)

__all__ = ["keeps_values", "transformed"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
