"""A fake account, and a way to run plans against it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.operations.setup import aws as aws_module
from lineage_bridge_dagster.operations.setup import run
from lineage_bridge_dagster.operations.setup.aws import Aws
from lineage_bridge_dagster.operations.setup.plan import Step, plan
from lineage_bridge_dagster.operations.setup.run import Outcome, Record
from lineage_bridge_dagster.operations.setup.target import Target
from lineage_bridge_dagster_tests.operations.setup.fake_aws import FakeAws
from lineage_bridge_dagster_tests.operations.setup.targets import target


@pytest.fixture
def fake() -> FakeAws:
    return FakeAws(namespaces={"sales": ["orders", "returns"]})


class Setup:
    """One person's setup of a target, with the record in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: list[Outcome] = []
        self.slept: list[float] = []
        self.aws = Aws(AwsSettings())

    @property
    def record(self) -> Record:
        return Record(self.path, "here")

    def steps(self, wanted: Target | None = None) -> list[Step]:
        wanted = wanted or target()
        return plan(wanted, self.aws.state(wanted))

    def needed(self, wanted: Target | None = None) -> list[str]:
        return [step.title for step in self.steps(wanted) if step.action]

    def apply(self, wanted: Target | None = None) -> None:
        steps = self.steps(wanted)
        run.apply(self.aws, steps, self.record, report=self.outcomes.append, sleep=self.slept.append)

    def rollback(self) -> bool:
        return run.undo(self.aws, self.record, report=self.outcomes.append, sleep=self.slept.append)


@pytest.fixture
def make_setup(fake: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Setup]:
    monkeypatch.setattr(aws_module, "aws_session", lambda _settings: fake)
    return lambda: Setup(tmp_path / "record.json")


@pytest.fixture
def setup(make_setup: Callable[[], Setup]) -> Setup:
    return make_setup()
