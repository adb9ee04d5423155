"""The deployment of `deploy/` as processes, with faults in each of them."""
