"""The manifest of an extract that was written: its range, and the files that it names with their digests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from lineage_bridge_dagster.collector.marks import checked
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.json_text import json_value


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest, and where it is.

    Attributes:
        sha256: SHA-256 of the manifest's bytes, in hexadecimal. It stands for the files as well: the manifest
            has the digest of each.
        start: The mark from which changes count.
        end: The mark to publish when the files have arrived.
    """

    path: Path
    sha256: str
    start: str
    end: str
    content: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a manifest.

        Raises:
            LineageBridgeError: It does not exist, or is not a manifest.
        """
        try:
            raw = path.read_bytes()
            content = json_value(raw)
            marks = content["high_water_mark"]
            start, end = (checked(marks[name], f"{name} in {path}") for name in ("start", "end"))
            return cls(path, hashlib.sha256(raw).hexdigest(), start, end, content)
        except OSError as error:
            raise LineageBridgeError(
                f"Cannot read the manifest {path}: {error.strerror}.",
                hint="Extract again; leave the files in output_path until they were uploaded, and let each "
                "process that runs the collector see that folder.",
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise LineageBridgeError(f"{path} is not a manifest: {error}.", hint="Extract again.") from error

    @property
    def files(self) -> list[Path]:
        """The files of the extract, beside the manifest."""
        return [self.path.with_name(Path(each["file"]).name) for each in self.content["files"]]

    def verify(self) -> None:
        """Check that each file is what the extract wrote.

        Raises:
            LineageBridgeError: A file is not there, or differs.
        """
        for path, each in zip(self.files, self.content["files"], strict=True):
            try:
                with path.open("rb") as stream:
                    digest = hashlib.file_digest(stream, "sha256").hexdigest()
            except OSError as error:
                raise LineageBridgeError(
                    f"Cannot read {path}: {error.strerror}.",
                    hint="Extract again; leave the files in output_path until they were uploaded.",
                ) from error
            if digest != each["sha256"]:
                raise LineageBridgeError(
                    f"{path} is not what the extract wrote: its SHA-256 differs from that of the manifest.",
                    hint="Find out what changed it, and extract again.",
                )
