"""Variables in files, as Kubernetes, Compose and other tools mount secrets: one file for each variable.

They are read whenever settings are, so that a key is rotated by writing its file, without a restart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from lineage_bridge_dagster.config.prefix import PREFIX, SECRETS_DIR
from lineage_bridge_dagster.errors import ConfigurationError

#: Only this project's variables, as in AWS Secrets Manager: a folder must not set AWS_PROFILE or the like.
_NAME = re.compile(rf"{PREFIX}[A-Z0-9_]+")
#: Bytes of a file; no key is longer.
_MAX_BYTES = 64 * 1024


def secret_files(folder: str) -> Mapping[str, str]:
    """The variables in the files of a folder, by the names of the files; none that is empty.

    A line end at the end of a file does not count. Other files, such as `..data` of Kubernetes, are left
    alone.

    Raises:
        ConfigurationError: the folder or a file cannot be read, or a file is too long or no text.
    """
    found: dict[str, str] = {}
    try:
        for path in sorted(Path(folder).iterdir()):
            if not _NAME.fullmatch(path.name) or path.is_dir():
                continue
            with path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
            if len(content) > _MAX_BYTES:
                raise ConfigurationError(
                    f"{path} has more than {_MAX_BYTES:,} bytes.", hint="Put the value alone into it."
                )
            if value := content.decode().rstrip("\r\n"):
                found[path.name] = value
    except UnicodeDecodeError:
        # Its text would show a part of the value.
        raise ConfigurationError(f"{path} is not text in UTF-8.", hint="Write the value again.") from None
    except OSError as error:
        raise ConfigurationError(
            f"{error.filename or folder} cannot be read: {error.strerror or type(error).__name__}.",
            hint=f"{SECRETS_DIR} names a folder whose files this process may read, one for each variable.",
        ) from error
    return found
