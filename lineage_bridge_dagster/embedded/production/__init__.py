"""The deployment of `deploy/` on the embedded stack: PostgreSQL, and each process by itself."""
