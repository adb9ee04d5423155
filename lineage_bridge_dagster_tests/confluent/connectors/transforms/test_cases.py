"""Case formats, as Guava converts them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.confluent.connectors.transforms.cases import CASE_FORMATS
from lineage_bridge_dagster_tests.confluent.connectors.java_oracle import JavaOracle

_formats = st.sampled_from(sorted(CASE_FORMATS))


@settings(max_examples=300)
@given(_formats, _formats, st.text("abXY-_.1", max_size=8))
def test_conversions_are_guavas(oracle: JavaOracle, old: str, new: str, name: str) -> None:
    assert "=" + CASE_FORMATS[old].to(CASE_FORMATS[new], name) == oracle.case_format(old, new, name)
