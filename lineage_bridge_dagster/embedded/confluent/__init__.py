"""Confluent Cloud's APIs over the local brokers' own topics.

`python -m lineage_bridge_dagster.embedded.confluent --home DIR` serves them on one loopback port: the control
plane at its root, and each data plane (Kafka REST, Schema Registry, Flink) under a prefix that the control
plane announces in its `http_endpoint` fields. Answers have the shapes of Confluent's OpenAPI documents, each
plane wants its own key, lists come in pages, and failures come on request (`faults`).

What the emulator knows beyond the brokers is kept in `DIR/data/confluent`, filled once from the sample world.
A topic that Tableflow is enabled on is PENDING until whoever writes its table says that the table is there;
see `internal` for its paths: `GET /emulator/tableflow`, `PUT /emulator/tableflow/{cluster}/{topic}/status`.
"""
