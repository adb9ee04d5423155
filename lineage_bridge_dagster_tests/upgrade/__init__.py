"""What version 0.1.0 stored, as it wrote it, and what this version makes of it.

`v0_1_0/` has a discovery of that version's sample world, the cursor of its sensor after a tick, a table after
its push, and the columns of its lineage tables. Nothing else that this version stores existed then.
"""

from pathlib import Path

V0_1_0 = Path(__file__).parent / "v0_1_0"
