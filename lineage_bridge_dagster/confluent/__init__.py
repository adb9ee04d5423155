"""Discovery of Confluent: API clients, and the graph built from what they list."""
