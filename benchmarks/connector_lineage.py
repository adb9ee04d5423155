"""Precision and recall of the lineage of connectors, over configurations with their expected lineage.

    python benchmarks/connector_lineage.py
    python benchmarks/connector_lineage.py --mistakes --by-class my_cases.jsonl

The format of the cases is described in lineage_bridge_dagster_tests/confluent/connectors/cases/README.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lineage_bridge_dagster_tests.confluent.connectors.scoring import CASES, by_class, load, score


def main() -> None:
    """Print precision and recall of topics, datasets and pairs."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("files", nargs="*", type=Path, help="JSON Lines files; default: the tests' own")
    options.add_argument("--by-class", action="store_true", help="one line for each connector class")
    options.add_argument("--mistakes", action="store_true", help="list what is wrong or missed")
    chosen = options.parse_args()
    cases = load(*(chosen.files or sorted(CASES.glob("*.jsonl"))))
    if chosen.by_class:
        for name, part in by_class(cases).items():
            print(f"{name:<70} {part}")
    total = score(cases)
    if chosen.mistakes:
        print(*total.mistakes, sep="\n")
    classes = len({case["class"] for case in cases})
    print(f"{len(cases)} configurations of {classes} classes, precision / recall: {total}")


if __name__ == "__main__":
    main()
