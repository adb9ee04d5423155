"""Events of OpenLineage from others -> nodes and edges. Pure."""
