"""Jobs of a single op."""

from __future__ import annotations

from collections.abc import Mapping

from dagster import GraphDefinition, JobDefinition, OpDefinition, in_process_executor


def one_op_job(work: OpDefinition, description: str, tags: Mapping[str, str] | None = None) -> JobDefinition:
    """A job of the op's name that runs it in the process of the run."""
    # A graph and its op need different names; run configurations use the name of the op.
    graph = GraphDefinition(f"{work.name}_graph", node_defs=[work])
    return graph.to_job(work.name, description, executor_def=in_process_executor, tags=tags)
