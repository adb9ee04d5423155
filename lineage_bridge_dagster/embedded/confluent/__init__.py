"""Emulator of Confluent Cloud's APIs, backed by the topics of the local brokers.

`python -m lineage_bridge_dagster.embedded.confluent --home DIR` serves them on one loopback port: the control
plane at the root, and each data plane (Kafka REST, Schema Registry, Flink, ksqlDB) under a prefix that the
control plane reports in its `http_endpoint` fields. Responses follow Confluent's OpenAPI documents, each
plane requires its own key, lists are paginated, and failures can be scripted (`faults`).

State beyond the brokers is stored in `DIR/data/confluent`, initialized once from the sample platform.
A topic with Tableflow enabled is PENDING until the materializer reports that its table exists, through
`GET /emulator/tableflow` and `PUT /emulator/tableflow/{cluster}/{topic}/status` (see `internal`).
"""
