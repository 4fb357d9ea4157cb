"""The names of baselines.

They are: a target alone, ``<target>+host`` where it leaves nodes to others, ``<target>:<source>`` of a partitioning, and greedy.
"""

from __future__ import annotations

GREEDY = "greedy"
"""The baseline that takes the largest sub-graphs first, and its search."""
_REST = "+host"
_SOURCE = ":"
"""No target has it in its name."""


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
    return _SOURCE in name


def is_alone(name: str) -> bool:
    """Return whether the baseline `name` is one target for the whole model."""
    return name != GREEDY and main_target(name) is None and not is_partitioning(name)
