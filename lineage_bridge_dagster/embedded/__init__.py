"""The local stack: Kafka brokers, Confluent, Glue and S3. Imported only by the command line and tests."""
