"""Launches runs as forks of a process that has imported what every run needs."""
