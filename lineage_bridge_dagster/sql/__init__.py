"""SQL text -> the tables and columns that it reads and writes.

A Flink text takes this route:

1. `flink/parser.py` splits the text into statements (`split.py`), adapts Confluent's dialect (`dialect.py`),
   runs Flink's own parser (`FlinkTrees.java` with `TreeWriter.java`, in a JVM of `jars/worker.py`) and
   collects each statement's tables from its syntax tree (`tree.py`, `tables.py`): a `ParsedText`.
2. `flink/views.py` replaces views by the tables behind them, `flink/names.py` resolves names to topics.
3. `columns/derivation.py` derives columns from the same `ParsedText`s: statement by statement
   (`statement.py`, with the tables that statements leave in `tables.py`), query by query (`queries.py`),
   expression by expression (`expressions.py`).

ksqlDB's dialect has a small parser of its own, `ksql/parser.py`. `report/` prints what `lineage-bridge sql`
finds.
"""
