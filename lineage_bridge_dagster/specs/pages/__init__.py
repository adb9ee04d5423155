"""What an asset's page shows about its node: description, tree, diagram and columns. Pure."""
