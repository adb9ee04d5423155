"""Reports of an impact, one module for each place where they are read. Pure."""
