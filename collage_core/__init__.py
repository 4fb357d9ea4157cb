"""Collage Explorer's engine: finds the fastest way to run a neural network over several toolchains at once.

``import collage_core as collage`` gives `collage.partition`, `collage.Options` and `collage.apply`, `collage.open_run` for a run that was
kept, `collage.Artifact` to run what was built, `collage.compare` and `collage.apparent_loss`, `collage.plan_devices` of a
`collage.device_problem`. Nothing that takes long to import is imported before it is needed.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .api import partition
    from .devices.plan_devices import plan_devices
    from .devices.read_problem import device_problem
    from .options import Options
    from .pipeline.record.record import RunRecord
    from .pipeline.shapes.apply_shapes import apply
    from .results.result import Result, open_run
    from .rewrite.runtime.artifact import Artifact
    from .rewrite.runtime.shaped_artifact import open_artifact
    from .what_if.apparent_loss import apparent_loss
    from .what_if.compare import compare

__all__ = [
    "Artifact",
    "Options",
    "Result",
    "RunRecord",
    "__version__",
    "apparent_loss",
    "apply",
    "compare",
    "device_problem",
    "open_artifact",
    "open_run",
    "partition",
    "plan_devices",
]

# ONNX Runtime reads this when it is imported: without it, it writes names of the user's nodes into a database and looks its collector up.
# Every process of ours starts from one that imported this package, and takes over its environment.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
# OpenVINO sends an event to Google Analytics each time that it is imported, unless this package of its cannot be.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]

_OWNERS = {
    "Artifact": "rewrite.runtime.artifact",
    "Options": "options",
    "Result": "results.result",
    "RunRecord": "pipeline.record.record",
    "apparent_loss": "what_if.apparent_loss",
    "apply": "pipeline.shapes.apply_shapes",
    "compare": "what_if.compare",
    "device_problem": "devices.read_problem",
    "open_artifact": "rewrite.runtime.shaped_artifact",
    "open_run": "results.result",
    "partition": "api",
    "plan_devices": "devices.plan_devices",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _OWNERS:
        return getattr(import_module(f"{__name__}.{_OWNERS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
