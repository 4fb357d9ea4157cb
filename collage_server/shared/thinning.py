"""Decides which events may be dropped when there are many, and drops them. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from collage_core import events

T = TypeVar("T")

THINNABLE = (events.CandidateBuilding, events.SearchingBody, events.PlanConsidered, events.SearchProgress, events.ComparingPlans)
"""Events that may be dropped when there are many; all others are decisions and always arrive."""

_THINNABLE_NAMES = frozenset(kind.__name__ for kind in THINNABLE)

BATCH_THINNABLE = 60
"""Most thinnable events in one batch: more than this a page cannot draw in its time."""


def is_thinnable(event_type: str) -> bool:
    """Return whether events of this type may be dropped when there are many."""
    return event_type in _THINNABLE_NAMES


def thin(items: Sequence[T], keep: int = BATCH_THINNABLE) -> Sequence[T]:
    """Keep at most `keep` of the items, spread evenly, the newest always."""
    if len(items) <= keep:
        return items
    step = len(items) / keep
    return [items[round((index + 1) * step) - 1] for index in range(keep)]
