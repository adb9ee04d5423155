"""What an asset's page says of its node: the description that opens it, and the links. Pure."""
