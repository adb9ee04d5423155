"""Upstream lineage of Confluent Tableflow tables, as Dagster assets and in AWS Glue."""


def __getattr__(name: str) -> str:
    # Read when asked for: modules are also run before the package is installed.
    if name == "__version__":
        from importlib.metadata import version

        return version("lineage-bridge-dagster")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
