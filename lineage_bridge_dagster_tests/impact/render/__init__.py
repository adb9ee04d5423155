"""Reports of an impact."""
