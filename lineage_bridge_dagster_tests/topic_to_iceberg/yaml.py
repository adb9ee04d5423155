"""Instances of the component that loads topics, and a fake engine for their assets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from dagster import Definitions
from dagster.components.testing import create_defs_folder_sandbox

from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.component import TopicToIcebergComponent
from lineage_bridge_dagster.topic_to_iceberg.loader import Loader, LoadStatus, OpenLoader
from lineage_bridge_dagster.topic_to_iceberg.loading.model import LoadStep
from lineage_bridge_dagster.topic_to_iceberg.loading.slices import SliceCounts, SliceReport, TimeSlice
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

TYPE = "lineage_bridge_dagster.component.TopicToIcebergComponent"
KAFKA = {"cluster": "lkc-abc123", "environment": "env-1"}


@contextmanager
def loaded(
    attributes: Mapping[str, Any], state: Mapping[str, Any] | None = None
) -> Iterator[tuple[TopicToIcebergComponent, Definitions]]:
    """Load an instance with these attributes, which has the cluster unless they name another."""
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=TopicToIcebergComponent,
            defs_yaml_contents={"type": TYPE, "attributes": {"kafka": KAFKA, **attributes}},
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, definitions):
            assert isinstance(component, TopicToIcebergComponent)
            yield component, definitions


def load_error(attributes: Mapping[str, Any]) -> str:
    """The error, with those that caused it, of an instance that does not load."""
    with pytest.raises(Exception) as raised, loaded(attributes):  # noqa: PT011
        pass
    texts: list[str] = []
    error: BaseException | None = raised.value
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


@dataclass
class FakeTopic:
    """A topic with one partition; each step of its loader reads the next batch."""

    batches: list[LoadStep | Exception] = field(default_factory=list)
    end: int = 0
    columns: dict[str, str] = field(default_factory=dict)
    oldest_unread_ms: int | None = None
    opened: int = 0
    ensured: int = 0
    threads: set[str] = field(default_factory=set)
    slices: dict[str, SliceCounts | Exception] = field(default_factory=dict)
    backfills: list[tuple[list[str], timedelta | None]] = field(default_factory=list)
    on_step: Callable[[], None] = lambda: None


class FakeLoader:
    """Replays the steps of a topic; without any left, it has caught up."""

    def __init__(self, topic: FakeTopic) -> None:
        self._topic = topic
        self._at = 0

    def ensure(self) -> None:
        self._topic.ensured += 1

    def ends(self) -> Offsets:
        return {0: self._topic.end}

    def columns(self) -> Mapping[str, str]:
        return dict(self._topic.columns)

    def advance(self) -> LoadStep:
        import threading

        self._topic.threads.add(threading.current_thread().name)
        self._topic.on_step()
        if not self._topic.batches:
            return LoadStep({0: self._at}, caught_up=True)
        step = self._topic.batches.pop(0)
        if isinstance(step, Exception):
            raise step
        self._at = step.offsets[0]
        return step

    def backfill(self, slices: Sequence[TimeSlice], late: timedelta | None) -> Iterator[SliceReport]:
        self._topic.backfills.append(([each.name for each in slices], late))
        for each in slices:
            counts = self._topic.slices.get(each.name, SliceCounts())
            if isinstance(counts, Exception):
                raise counts
            yield SliceReport(each, counts)

    def status(self) -> LoadStatus:
        topic = self._topic
        return LoadStatus(
            snapshot_id=9_007_199_254_740_993 if self._at else None,
            committed_ms=1_767_323_045_000 if self._at else None,
            rows=self._at,
            columns=dict(topic.columns),
            offsets={0: self._at},
            ends={0: topic.end},
            oldest_unread_ms=topic.oldest_unread_ms if self._at < topic.end else None,
            schema_ids=(7, 9),
        )


class FakeCluster:
    """Opens fake loaders by topic."""

    def __init__(self, **topics: FakeTopic) -> None:
        self.topics = {name.replace("__", "."): topic for name, topic in topics.items()}

    def __call__(self, load: TopicLoad) -> Loader:
        topic = self.topics[load.topic]
        topic.opened += 1
        return FakeLoader(topic)

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Replace Spark and the brokers in every instance."""

        def open_loaders(_self: TopicToIcebergComponent, *_: Any) -> OpenLoader:
            return self

        monkeypatch.setattr(TopicToIcebergComponent, "open_loaders", open_loaders)


def step(to: int, rows: int = 0, *, last: bool = False, **counts: int) -> LoadStep:
    """A commit up to an offset."""
    return LoadStep({0: to}, caught_up=last, rows=rows, committed=True, **counts)
