"""A strict Glue for each test, with a collector of its tables."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.collector import Extract, Extractor
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION

MakeExtractor = Callable[..., Extractor]


@pytest.fixture
def aws() -> Iterator[StrictAws]:
    with StrictAws() as server:
        yield server


@pytest.fixture
def catalog(aws: StrictAws) -> Catalog:
    """What others do to the catalog."""
    return Catalog(aws)


@pytest.fixture
def extractor(aws: StrictAws, tmp_path: Path) -> MakeExtractor:
    """Makes extractors of the catalog, with their files and their mark in the test's folder."""

    def make(*, mask_key: str = "", **config: Any) -> Extractor:
        defaults = {
            "key": ACCESS_KEY,
            "secret": SECRET_KEY,
            "server": "acme",
            "regions": [REGION],
            "output_path": tmp_path / "files",
            "endpoint_url": aws.endpoint_url,
        }
        place = {"mark_path": tmp_path / "mark"}
        return Extractor(mask_key=mask_key, **{**defaults, **place, **config})

    return make


def rows(extract: Extract, kind: str) -> list[dict[str, str]]:
    """The rows of a CSV file, by column; read as text with the newlines that were written."""
    path = next(each.path for each in extract.files if each.kind == kind)
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def names(extract: Extract, kind: str) -> set[str]:
    """The `database.table` of each row; a database alone has an empty table."""
    return {f"{row['database']}.{row['table']}".rstrip(".") for row in rows(extract, kind)}
