"""Programs of the system's packages that check the files of `deploy/`."""

from __future__ import annotations

import os
import shutil

import pytest

from lineage_bridge_dagster_tests.test_dependencies import ROOT

#: Where `make deploy-tools` puts them.
_FETCHED = ROOT / "build" / "deploy-tools"


def program(name: str) -> str:
    """The path of a program.

    Skips the test if there is none, as on a user's machine, but fails it in CI.
    """
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", str(_FETCHED)))
    found = shutil.which(name, path=path)
    if found is None:
        reason = f"there is no {name}: make deploy-tools"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return found
