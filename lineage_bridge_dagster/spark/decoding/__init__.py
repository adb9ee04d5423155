"""Keys and values of records, decoded by the schemas of their subject."""
