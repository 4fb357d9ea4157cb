"""The words about where a plan has its tensors: copies, memory, and what running at the same time could save.

Records of a plan enter; texts leave. Page, terminal and files print these texts as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..base.durations import decimal, duration
from .plan import PlanCopy, PlanMemory, PlanParallel

WORTH_SCHEDULING = 0.1
"""From this share of the total on it is said which resources would be busy for how long."""
_LEAST = 0.005
"""A smaller share is nothing."""
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def bytes_text(count: float) -> str:
    """Return ``97.8 MB``, in powers of 1000."""
    power = 0
    while count >= 999.5 and power < len(_UNITS) - 1:
        count, power = count / 1000, power + 1
    return f"{decimal(count, 3)} {_UNITS[power]}" if count != 1 or power else "1 byte"


def link_text(fixed_s: float, per_byte_s: float) -> str:
    """Return the speed of a link: ``20 µs, then 50 GB/s``; without a cost for each byte the time alone."""
    if not per_byte_s:
        return duration(fixed_s)
    return f"{f'{duration(fixed_s)}, then ' if fixed_s else ''}{bytes_text(1 / per_byte_s)}/s"


def parallel_text(gain_at_most: float, work_s: Mapping[str, float]) -> str:
    """Return the bound of what parallel running could gain, and from a tenth on which resources would be busy."""
    if gain_at_most < _LEAST:
        return "running partitions at the same time can gain nothing here"
    text = f"running partitions at the same time can gain at most {gain_at_most * 100:.0f} % here"
    if gain_at_most < WORTH_SCHEDULING:
        return text
    busy = sorted(work_s.items(), key=lambda item: -item[1])
    return f"{text}: {', '.join(f'{name} works for {duration(seconds)}' for name, seconds in busy if seconds)}"


def copy_text(copy: PlanCopy) -> str:
    """Return a copy in words, with its bytes, its time, and what that rests on."""
    basis = f" ({copy.basis})" if copy.basis else ""
    return f"copy of {copy.tensor} from {copy.source} to {copy.destination}: {bytes_text(copy.bytes)}, {duration(copy.cost_s)}{basis}"


def memory_text(held: PlanMemory) -> str:
    """Return what a plan holds at a location in words."""
    limit = "" if held.limit is None else f" of {bytes_text(held.limit)}"
    weights = f"; {bytes_text(held.weights)} are weights" if held.weights else ""
    return f"{held.location} holds {bytes_text(held.peak)}{limit} at most, while the partition of {held.node!r} runs{weights}"


def placement_lines(copies: Iterable[PlanCopy] | None, memory: Iterable[PlanMemory] | None, parallel: PlanParallel | None) -> Iterable[str]:
    """Yield a line for each copy and each location, and one for what running at the same time could save."""
    yield from map(copy_text, copies or ())
    if not copies:
        yield "nothing is copied between memories"
    yield from map(memory_text, memory or ())
    if parallel is not None:
        yield parallel.text
