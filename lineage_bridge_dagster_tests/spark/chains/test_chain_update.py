"""Which stored chains differ from the wanted ones."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.spark.chains.chain_update import differing

_IDS = [f"t{i}" for i in range(6)]
_PAIRS = st.tuples(st.sampled_from(_IDS), st.sampled_from([None, "1", "2", "3"]))


@given(
    st.sets(st.sampled_from(_IDS)),
    st.dictionaries(st.sampled_from(_IDS), st.sampled_from(["1", "2"])),
    st.sets(_PAIRS),
)
def test_chain_differs_unless_its_digest_alone_is_stored(
    walked: set[str], wanted: dict[str, str], stored: set[tuple[str, str | None]]
) -> None:
    wanted = {table: digest for table, digest in wanted.items() if table in walked}
    schema = pa.schema([("table_id", pa.string()), ("chain_digest", pa.string())])
    ids, chains, found = (
        pa.array(sorted(walked), pa.string()),
        pa.table([list(wanted), list(wanted.values())], schema=schema),
        pa.table([[table for table, _ in stored], [digest for _, digest in stored]], schema=schema),
    )
    digests = {table: {digest for other, digest in stored if other == table} for table in walked}
    right = {table: {wanted[table]} if table in wanted else set() for table in walked}
    expected = {table for table in walked if digests[table] != right[table]}
    assert set(differing(ids, chains, found).to_pylist()) == expected
