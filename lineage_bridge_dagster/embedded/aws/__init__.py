"""Glue and S3 on this machine: moto's server, made as strict as Glue, and durable.

moto's own Glue ignores `VersionId`, `SkipArchive`, the size limits and paging, so lost updates would pass
unseen. The layer here answers the Data Catalog's operations itself, over moto's own records, and leaves
S3 and all else to moto. `with StrictAws() as aws:` serves a private one to a test;
`python -m lineage_bridge_dagster.embedded.aws --port P --data DIR` serves the local stack's.
"""

from lineage_bridge_dagster.embedded.aws.faults import Fault
from lineage_bridge_dagster.embedded.aws.server import ACCESS_KEY, SECRET_KEY, StrictAws

__all__ = ["ACCESS_KEY", "SECRET_KEY", "Fault", "StrictAws"]
