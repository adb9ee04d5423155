"""Glue and S3 on this machine: moto's server, made durable and as strict as Glue.

moto's own Glue ignores `VersionId`, `SkipArchive`, size limits and paging, so lost updates would go
unnoticed. This package implements the Data Catalog's operations itself, on moto's records, and leaves
S3 and everything else to moto. `with StrictAws() as aws:` starts a private server for a test;
`python -m lineage_bridge_dagster.embedded.aws --port P --data DIR` starts the local stack's.
"""

from lineage_bridge_dagster.embedded.aws.faults import Fault
from lineage_bridge_dagster.embedded.aws.server import ACCESS_KEY, SECRET_KEY, StrictAws

__all__ = ["ACCESS_KEY", "SECRET_KEY", "Fault", "StrictAws"]
