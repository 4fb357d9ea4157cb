"""Reads ONNX Runtime's profile: the nodes of the model that it optimised, and the seconds of each.

A package and the file that the profiler wrote enter, steps leave (`profiling`). ONNX Runtime is not imported.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from onnx import ModelProto, NodeProto

from ...model.nodes import read_by
from ..profiling import Step, labels
from ..toolchain import ToolchainError

_NAME = "collage-kernel-{}"
_SUFFIX = "_kernel_time"


def numbered(package: bytes) -> tuple[bytes, list[NodeProto]]:
    """Return the optimised model `package` with each node called after its index, and the nodes as they were.

    Several nodes may have had one name, or none; the profiler knows them by their names.
    """
    proto = ModelProto.FromString(package)
    kernels = []
    for index, node in enumerate(proto.graph.node):
        kernels.append(NodeProto.FromString(node.SerializeToString()))
        node.name = _NAME.format(index)
    return proto.SerializeToString(), kernels


def steps(kernels: Sequence[NodeProto], profile: Path) -> list[Step]:
    """Return the steps of a model with the nodes `kernels`, timed by `profile`. The first run is left out.

    Raises:
        ToolchainError: the file cannot be read.
    """
    try:
        events = json.loads(profile.read_text())
        seconds: dict[str, list[float]] = defaultdict(list)
        for event in events:
            if event.get("cat") == "Node" and event["name"].endswith(_SUFFIX):
                seconds[event["name"].removesuffix(_SUFFIX)].append(event["dur"] / 1e6)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolchainError("run", f"its profile cannot be read ({error})") from error
    return [_step(node, seconds[_NAME.format(index)]) for index, node in enumerate(kernels)]


def _step(node: NodeProto, seconds: Sequence[float]) -> Step:
    named = labels(" ".join([node.name, *node.output]))
    return Step(node.op_type, median(seconds[1:] or seconds or [0.0]), named, frozenset(read_by(node)), frozenset(node.output))
