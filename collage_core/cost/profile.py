"""`ProfiledPart`: where the time of a candidate goes on its target, as the target's own profiler tells. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

from ..rules.candidate import CandidatePartition


@dataclass(frozen=True)
class ProfiledPart:
    """The kernels of a candidate and their times.

    A profiler slows a kernel down, so the sum may be more than the candidate costs; shares of it are what counts.

    Attributes:
        groups: The nodes of the model that one kernel computes together, and its seconds. Each node is in one group.
        rest_s: Seconds of kernels that belong to no node.
    """

    candidate: CandidatePartition
    groups: tuple[tuple[tuple[int, ...], float], ...]
    rest_s: float = 0.0

    @property
    def total_s(self) -> float:
        """Seconds of all kernels."""
        return self.rest_s + sum(seconds for _, seconds in self.groups)
