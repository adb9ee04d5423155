"""One-time steps in an AWS account: planned from what is there, applied, recorded and undone."""
