"""Records that have no row in their table: written to a topic of their own, and sent again after a fix."""
