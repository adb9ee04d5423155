"""What Confluent says."""
