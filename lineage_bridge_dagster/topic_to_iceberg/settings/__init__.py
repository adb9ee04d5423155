"""What the YAML of the component sets: topics and their tables, runs, upkeep."""
