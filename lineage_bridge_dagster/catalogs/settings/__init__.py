"""What configures catalogs, and the pushes to them."""
