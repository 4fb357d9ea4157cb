"""The names of baselines: a target alone, ``<target>+host`` where it leaves nodes to others, and greedy."""

from __future__ import annotations

GREEDY = "greedy"
"""The baseline that takes the largest sub-graphs first, and its search."""
_REST = "+host"


def with_rest(target: str) -> str:
    """Return the name of the baseline in which only what `target` must leave goes elsewhere."""
    return f"{target}{_REST}"


def main_target(name: str) -> str | None:
    """Return the target of a baseline that `with_rest` named; None of any other."""
    return name.removesuffix(_REST) if name.endswith(_REST) else None


def is_alone(name: str) -> bool:
    """Return whether the baseline `name` is one target for the whole model."""
    return name != GREEDY and main_target(name) is None
