"""Where events of OpenLineage come from: files, a folder that a receiver fills, S3, a Kafka topic."""
