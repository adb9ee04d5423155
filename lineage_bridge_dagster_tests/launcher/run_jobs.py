"""Jobs whose runs tell about their processes."""

import os
import random
import signal
import sys
import time

import dagster as dg
import numpy

#: A module that is imported before the first fork.
IMPORTED_BEFORE = "lineage_bridge_dagster.component"


@dg.op
def tell(context: dg.OpExecutionContext) -> None:
    facts = {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "sample": random.random(),  # noqa: S311
        "numpy_sample": float(numpy.random.random()),
        "imported_before": IMPORTED_BEFORE in sys.modules,
        "interrupt": signal.getsignal(signal.SIGINT) is not signal.SIG_IGN,
    }
    context.add_output_metadata(facts)


@dg.op
def wait() -> None:
    time.sleep(600)


@dg.op
def vanish() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dg.job(executor_def=dg.in_process_executor)
def telling() -> None:
    tell()


@dg.job
def waiting() -> None:
    wait()


@dg.job(executor_def=dg.in_process_executor)
def vanishing() -> None:
    vanish()


defs = dg.Definitions(jobs=[telling, waiting, vanishing])
