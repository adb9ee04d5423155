"""The local stack: broker, Glue and S3, Confluent. Imported by the command line and tests alone."""
