"""CPU time of our loads beside that of Spark's plain read, decode and write of the same topics, in one JVM.

    python benchmarks/loader_ratios.py
    python benchmarks/loader_ratios.py --records 200000 --rounds 3 --only avro/plain avro/append
    python benchmarks/loader_ratios.py --check

Topics have the same orders, in Avro and in JSON; in `avro-unions` and `json-unions` with two unions besides,
and in `json-points` with integers written as `1.0`. Each path reads one of them whole. `plain` is Spark's
Kafka source, `from_avro` or `from_json` of the value, and Parquet files: no check, no key, no table. `append`
and `upsert` load a new table in two batches, the second of which changes rows of the first by `upsert`;
`bare` is `append` without the raw key and value. The paths take turns, and the first round is the JVM's
warm-up. A path's figure is its best round after that: CPU time of this process and its JVM, which a busy
machine disturbs less than the time that passes. Ratios are the same on other machines, the rates are not.
With `--check` it exits with 1 if a ratio is worse than its bound, which is printed beside it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from orders import Format, Orders, Values, fill, schemas_of
from topic_loader import Load, load_topic, session_of
from topic_to_iceberg import Stand

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.schemas.json_schema import json_node
from lineage_bridge_dagster.schemas.schemas import JSON, RegisteredSchema
from lineage_bridge_dagster.spark.decoding.spark_types import spark_type
from lineage_bridge_dagster.spark.kafka import SparkTopic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Topics -> format and values of their records.
TOPICS: Mapping[str, tuple[Format, Values]] = {
    "avro": ("avro", "plain"),
    "json": ("json", "plain"),
    "avro-unions": ("avro", "unions"),
    "json-unions": ("json", "unions"),
    "json-points": ("json", "points"),
}

PATHS = (
    *(f"{form}/{kind}" for form in ("avro", "json") for kind in ("plain", "append", "bare", "upsert")),
    *("avro-unions/append", "json-unions/append", "json-points/append"),
)
#: Paths of JSON -> those of Avro that load the same, and the most times as long that they may take.
COMPARED = {
    **{f"json/{kind}": (f"avro/{kind}", 1.2) for kind in ("append", "bare", "upsert")},
    "json-unions/append": ("avro-unions/append", 1.2),
    "json-points/append": ("avro/append", 1.2),
}
#: The least share of the rate of `plain` that a path may have. A fifth below what was measured for the table
#: in docs/measurements.md: two runs on a busy machine differ by a tenth.
LEAST_OF_PLAIN = {"avro/append": 0.38, "avro/bare": 0.44, "avro/upsert": 0.28}
_LINE = "{:<20}{:>10}{:>12}{:>10}{:>10}"
#: Bytes before the body of a record.
_HEADER = 5


class Race:
    """The topics and the session in which all paths run."""

    def __init__(self, stand: Stand, options: argparse.Namespace) -> None:
        self._stand, self._keys = stand, max(1, options.records // 2)
        self._orders: dict[str, Orders] = {}
        for topic in dict.fromkeys(path.partition("/")[0] for path in options.only):
            form, values = TOPICS[topic]
            orders = Orders(options.records, distinct_keys=self._keys, format=form, values=values)
            self._orders[topic] = orders
            fill(stand.bootstrap, orders)
        self._load = Load(
            bootstrap=stand.bootstrap,
            topics=[],
            catalog=stand.catalog_settings,
            namespace="",
            location="",
            max_records=-(-options.records // 2),
            spark={"spark.master": "local[2]", "spark.driver.memory": "2g"}
            | dict(entry.split("=", 1) for entry in options.conf),
        )
        #: Services, which are not measured.
        self._others = {each.pid for each in psutil.Process().children(recursive=True)}
        self.spark = session_of(self._load)

    def run(self, path: str, number: int) -> float:
        """Take a path, and return its CPU seconds."""
        name, kind = path.split("/")
        orders = self._orders[name]
        (topic,) = orders.names
        namespace = f"{name}_{kind}_{number}".replace("-", "_")
        location = f"{self._stand.warehouse}/{namespace}"
        before = self.cpu_seconds()
        if kind == "plain":
            _plain(
                self.spark, orders.format, SparkTopic(topic, Bootstrap.parse(self._stand.bootstrap)), location
            )
        else:
            load = replace(
                self._load,
                topics=[topic],
                namespace=namespace,
                location=location,
                format=orders.format,
                values=orders.values,
                mode="upsert" if kind == "upsert" else "append",
                raw_columns=kind != "bare",
            )
            load_topic(self.spark, load, topic)
        took = self.cpu_seconds() - before
        shutil.rmtree(location.removeprefix("file://"))
        return took

    def cpu_seconds(self) -> float:
        """User and system time of this process and its JVM."""
        this = psutil.Process()
        counted = [this, *(each for each in this.children(recursive=True) if each.pid not in self._others)]
        return sum(times.user + times.system for times in (each.cpu_times() for each in counted))


def main() -> None:
    """Print the measurements."""
    chosen = _options().parse_args()
    with ExitStack() as stack:
        scratch = tempfile.TemporaryDirectory(prefix="loader-ratios-", dir=chosen.folder)
        stand = Stand(Path(stack.enter_context(scratch)), stack, chosen)
        race = Race(stand, chosen)
        stack.callback(race.spark.stop)
        took: dict[str, list[float]] = {path: [] for path in chosen.only}
        for number in range(chosen.rounds + 1):
            for path in chosen.only:
                took[path].append(race.run(path, number))
                if chosen.verbose:
                    print(f"  round {number} {path}: {took[path][-1]:.2f} s", flush=True)
    print(f"{chosen.records:,} records, best of {chosen.rounds} rounds")
    print(_LINE.format("path", "CPU s", "rows/CPU s", "of plain", "at least"))
    best = {path: min(rounds[1:]) for path, rounds in took.items()}
    is_worse = False
    for path, seconds in best.items():
        plain, least = best.get(f"{path.partition('/')[0]}/plain"), LEAST_OF_PLAIN.get(path, 0.0)
        ratio = plain / seconds if plain else None
        is_worse = is_worse or (ratio is not None and ratio < least)
        shown = "" if ratio is None else f"{ratio:.2f}"
        print(
            _LINE.format(path, f"{seconds:.2f}", f"{chosen.records / seconds:,.0f}", shown, f"{least or ''}")
        )
    for path, (other, most) in COMPARED.items():
        if {path, other} <= best.keys():
            times = best[path] / best[other]
            is_worse = is_worse or times > most
            print(f"{path} takes {times:.2f} times as long as {other}, at most {most}")
    if chosen.check and is_worse:
        sys.exit("A ratio is worse than its bound.")


def _plain(spark: SparkSession, form: Format, topic: SparkTopic, location: str) -> None:
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    body, text = F.expr(f"substring(value, {_HEADER + 1})"), schemas_of(form)[1]
    if form == "avro":
        value = from_avro(body, text)
    else:
        node = json_node(RegisteredSchema(1, text, JSON))
        value = F.from_json(body.cast("string"), spark_type(node.type()))
    start, end = topic.bounds()
    rows = topic.read(spark, start, end, tasks=4).select(value.alias("value")).select("value.*")
    writer = rows.write.option("compression", "zstd").option("parquet.compression.codec.zstd.level", "1")
    writer.parquet(location)


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = options.add_argument
    add("--records", type=int, default=400_000, help="of each topic")
    add("--rounds", type=int, default=3, help="after the first one")
    add("--only", nargs="+", choices=PATHS, default=list(PATHS), help="paths to measure; all by default")
    add("--conf", nargs="*", default=[], metavar="NAME=VALUE", help="further configuration of Spark")
    add("--folder", type=Path, help="where topics and tables go, about 2 KB a record")
    add("--check", action="store_true", help="exit with 1 if a ratio is worse than its bound")
    add("--verbose", action="store_true", help="print each round")
    return options


if __name__ == "__main__":
    main()
