"""The only modules that use names that Dagster does not document.

None of these has a public equivalent in Dagster 1.13, to which `pyproject.toml` pins this project. After an
upgrade, check these names first.
"""
