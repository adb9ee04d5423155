"""The `lineage-bridge` command, one module per subcommand."""
