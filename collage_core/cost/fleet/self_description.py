"""Describe this worker in plain data, and name its resources: both reach the scheduler with Dask's own registration."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...base.isolation.worker import Worker
from ...base.isolation.worker_errors import WorkerError
from ...base.processor import usable_cores
from ...errors import CollageError
from ...toolchains import registry
from ...toolchains.border import availability_of
from ...version import __version__
from ..database.records import machine_id
from .protocol import Description, dump, error_to_json

TRIAL = "collage"
"""Resource of which a trial takes all that a worker has: one."""
ABOUT = "collage"
"""Name of the description among what Dask keeps of a worker."""
_DESCRIBE_S = 60.0


def resources() -> dict[str, float]:
    """Return what a worker has: room for one trial at a time, and its kind of machine."""
    return {TRIAL: 1, machine_resource(machine_id()): 1}


def machine_resource(machine: str) -> str:
    """Return the resource that workers of this kind have."""
    return f"machine: {machine}"


def describe(name: str, should_stop: Callable[[], bool] | None = None) -> str:
    """Return the description of this worker as JSON, or the error that prevents it. Raises Cancelled."""
    with Worker(should_stop=should_stop) as worker:
        try:
            return dump({"description": worker.call(description, name, timeout_s=_DESCRIBE_S)})
        except (CollageError, WorkerError) as error:
            return dump({"error": error_to_json(error)})


def description(name: str) -> dict[str, Any]:
    """Describe this worker; runs in a child, and loads no toolchain's library."""
    toolchains = {toolchain.name: availability_of(toolchain) for toolchain in registry.all_toolchains()}
    return asdict(Description(name, __version__, machine_id(), _host(), usable_cores(), toolchains))


def _host() -> str:
    """Return a name that is the same for all processes of a computer until it starts again."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return os.uname().nodename
