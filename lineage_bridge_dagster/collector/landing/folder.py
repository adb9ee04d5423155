"""A landing place in the file system, such as a mounted share."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from lineage_bridge_dagster.collector.files import ABANDONED_SECONDS
from lineage_bridge_dagster.collector.landing.landed import Landed
from lineage_bridge_dagster.errors import LineageBridgeError


@dataclass(frozen=True, slots=True)
class FolderLanding:
    """A folder; made if need be."""

    folder: Path

    def put(self, path: Path, name: str) -> Landed:
        """Copy to a hidden name, compare the copy with the file, and rename it."""
        final = self.folder / name
        partial = self.folder / f".{name}.{os.getpid()}.partial"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(self.folder, name.partition("_")[0])
            try:
                with path.open("rb") as source, partial.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                    target.flush()
                    os.fsync(target.fileno())
                if _digest(partial) != _digest(path):
                    raise LineageBridgeError(
                        f"The copy of {name} in {self.folder} differs from the file.",
                        hint="Check the disk or the share, and upload again.",
                    )
                partial.replace(final)
            finally:
                with contextlib.suppress(OSError):
                    partial.unlink(missing_ok=True)
        except OSError as error:
            raise LineageBridgeError(
                f"{name} could not be copied to {self.folder}: {error.strerror}.",
                hint="Name a folder that you may write to, with room for the files.",
            ) from error
        return Landed(name, str(final), final.stat().st_size)


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove what uploads left that were killed."""
    for partial in folder.glob(f".{prefix}_*.partial"):
        with contextlib.suppress(OSError):
            if time.time() - partial.stat().st_mtime > ABANDONED_SECONDS:
                partial.unlink()


def _digest(path: Path) -> bytes:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
