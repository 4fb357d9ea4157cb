"""The names of baselines.

They are: a target alone, ``<target>+host`` where it leaves nodes to others, ``<target>:<source>`` of a partitioning, greedy, and where
there are several shapes the one plan for all, and that of a range of them.
"""

from __future__ import annotations

import re

GREEDY = "greedy"
"""The baseline that takes the largest sub-graphs first, and its search."""
ALL_SHAPES = "all shapes"
"""The one plan that is best over several shapes, measured beside the plan of a single one."""
OF_RANGE = "its range"
"""The plan of the range that a shape lies in, where the shape alone would have another."""
_REST = "+host"
_SOURCE = ":"
"""Besides, only the device of a target has it (``onnxruntime:cuda:0``)."""
_DEVICE = re.compile(r":[A-Za-z]\w*:\d+")


def with_rest(target: str) -> str:
    """Return the name of the baseline in which only what `target` must leave goes elsewhere."""
    return f"{target}{_REST}"


def main_target(name: str) -> str | None:
    """Return the target of a baseline that `with_rest` named; None of any other."""
    return name.removesuffix(_REST) if name.endswith(_REST) else None


def partitioning_name(target: str, source: str) -> str:
    """Return the name of the baseline in which `target` takes exactly the groups that `source` made."""
    return f"{target}{_SOURCE}{source}"


def is_partitioning(name: str) -> bool:
    """Return whether `partitioning_name` made the name of a baseline."""
    return _SOURCE in _DEVICE.sub("", name)


def is_alone(name: str) -> bool:
    """Return whether the baseline `name` is one target for the whole model."""
    return name not in (GREEDY, ALL_SHAPES, OF_RANGE) and main_target(name) is None and not is_partitioning(name)
