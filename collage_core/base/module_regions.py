"""`RegionSummary`: a region of a Relax module in a list of all of them; `SeveralRegions`: the user is to choose one. Plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import CollageError
from .counted import counted


@dataclass(frozen=True)
class RegionSummary:
    """A region in a list of all regions of a module.

    Attributes:
        name: Its name: that of its function, a dot, and its number there.
        block: Index of its dataflow block in the function.
        nodes: Number of its nodes, before any are folded.
        operations: Floating-point or integer operations of these; 0 where their shapes are not known.
    """

    name: str
    block: int
    nodes: int
    operations: float

    @property
    def function(self) -> str:
        return self.name.rpartition(".")[0]


class SeveralRegions(CollageError):
    """Raised where a module has several regions, and the user is to choose one.

    Args:
        regions: The regions, the largest first.
    """

    def __init__(self, message: str, hint: str = "", code: str = "several_regions", *, regions: Sequence[RegionSummary] = ()):
        super().__init__(message, hint, code)
        self.regions = tuple(regions)


def several_regions(file: str, regions: Sequence[RegionSummary]) -> SeveralRegions:
    """Return the error that lists `regions`, those of the module in a file of that name."""
    ordered = sorted(regions, key=lambda region: -region.nodes)
    listed = ", ".join(f"{region.name} ({counted(region.nodes, 'node')})" for region in ordered)
    hint = f"name one of them, such as {ordered[0].name}; `collage partition` takes all"
    return SeveralRegions(f"{file!r} has {len(regions)} regions, each partitioned by itself: {listed}", hint, regions=ordered)
