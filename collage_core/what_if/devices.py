"""What-ifs of devices: a memory of another size, a link of another speed, and how the best plan changes with either.

A record and `Terms` enter; a record under them, or a `DeviceCurve`, leaves. Nothing is measured. A curve is exact where each search was:
a plan that is the best at a limit L and holds p bytes is the best at every limit from p to L, and the time of a plan is linear in how much
slower a link is, so two plans are the best on both sides of where their lines cross, unless a third one is below both there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ..base.counted import counted
from ..base.durations import decimal, duration
from ..documents.placement_text import bytes_text
from ..documents.what_if import DeviceCurve, DevicePiece, DeviceTerms
from ..errors import CollageError, InfeasibleError
from ..pipeline.loop.search_and_merge import SearchSettings
from ..pipeline.record.record import RunRecord
from ..search.memory import plan_memory
from ..search.plan_properties import plan_copies, plan_total
from ..search.problem import FEMTOSECONDS, HOST_NAME, SearchProblem, Transition
from .plan_times import best_of_known_costs
from .terms import Terms

LONGEST_S = 5.0
"""Longest that a curve may take; what is not searched by then stays a gap."""
MOST_SLOWER = 16.0
"""A link is tried from this much slower to this much faster."""
MOST = 1e15
"""Largest memory, and largest factor of a speed."""
_EQUAL = 1e-9
"""Totals that differ by a smaller share are equal: costs of copies are rounded to femtoseconds."""


def with_devices(record: RunRecord, devices: Mapping[str, DeviceTerms]) -> RunRecord:
    """Return `record` with the memories and links of some locations as `devices` say.

    Raises:
        CollageError: there is no such location beside the host, or a number is out of range.
    """
    if not devices:
        return record
    problem = record.problem
    for location, terms in devices.items():
        _check(problem, location)
        for name, value in (("memory", terms.memory), ("link", terms.link)):
            if value is not None and not (0 <= value <= MOST and (value or name == "memory")):
                wanted = f"it must be a number {'from' if name == 'memory' else 'above'} 0, of at most {MOST:g}"
                raise CollageError(
                    f"the {name} of {location!r} is {value!r}, {wanted}", "memory is bytes, link times its speed", "bad_option"
                )
        if terms.memory is not None:
            problem = replace(problem, locations={**problem.locations, location: int(terms.memory)})
        problem = _with_link(problem, location, 1 / terms.link)
    return replace(record, problem=problem, has_newer_costs=True)


def memory_of(record: RunRecord, location: str) -> int:
    """Return the bytes that `location` may hold; where that is not limited, the most that the plan of `record` holds there.

    Raises:
        CollageError: there is no such location beside the host.
    """
    _check(record.problem, location)
    limit = record.problem.locations.get(location)
    if limit is None:
        return next((held.peak for held in record.plan.memory or () if held.location == location), 0)
    return limit


def _with_link(problem: SearchProblem, location: str, slower: float) -> SearchProblem:
    copies = {
        ends: Transition(cost.fixed * slower, cost.per_byte * slower) if location in ends else cost for ends, cost in problem.copies.items()
    }
    return replace(problem, copies=copies)


def _check(problem: SearchProblem, location: str) -> None:
    known = sorted(name for name in {*problem.target_locations.values(), *problem.locations} if name and name != HOST_NAME)
    if location not in known:
        which = f"its devices are {', '.join(known)}" if known else "all its targets are at the host"
        raise CollageError(f"the run has no device {location!r}: {which}", "describe one (docs/devices.md)", "unknown_device")


@dataclass(frozen=True)
class _Best:
    """The best plan at one point of a curve.

    Attributes:
        at: The point: bytes, or how much slower the link is.
        total: Femtoseconds.
        peak: Bytes that it holds at the location.
        linked: Femtoseconds of its copies over the link, as it is now.
    """

    at: float
    chosen: tuple[int, ...]
    total: int
    is_exact: bool
    peak: int
    linked: float


class _Curve:
    """The best plans of a run by the memory or the link of one location."""

    def __init__(self, record: RunRecord, terms: Terms, location: str):
        _check(record.problem, location)
        self.problem, self.location = record.problem, location
        self._record, self._terms = record, terms
        self._ends = time.monotonic() + LONGEST_S
        self.is_complete = True

    def best(self, problem: SearchProblem, at: float) -> _Best | None:
        """Return the best plan over `problem`; None where there is none, or the time is over."""
        left = min(self._ends - time.monotonic(), LONGEST_S / 4)
        if left <= 0:
            self.is_complete = False
            return None
        changed = replace(self._record, problem=problem, has_newer_costs=True)
        settings = SearchSettings.given(self._record.plan.options).within(left)
        try:
            result = best_of_known_costs(changed, self._terms.parse(problem), settings)
        except InfeasibleError:
            self.is_complete &= time.monotonic() < self._ends
            return None
        held = plan_memory(problem, result.chosen).get(self.location)
        linked = sum(copy.cost for copy in plan_copies(self.problem, result.chosen) if self.location in (copy.source, copy.destination))
        total = plan_total(problem, result.chosen)
        return _Best(at, result.chosen, total, result.optimal, held.peak if held else 0, linked)

    def by_memory(self) -> Iterator[tuple[_Best, float, float]]:
        """Yield (best plan, from, to) by the bytes that the location may hold, the most first.

        Twice what there is, half of it and nothing come first, so that these are known where the time ends early. Between them the next
        plan is the best within one byte less than the last one holds.
        """
        size = memory_of(self._record, self.location)
        plans = [self.best(self._limited(limit), at) for limit, at in ((None, 2 * size), (size // 2, size // 2), (0, 0))]
        known = {max(plan.at, plan.peak): replace(plan, at=max(plan.at, plan.peak)) for plan in plans if plan is not None}
        for upper, lower in pairwise([*known.values(), None]):
            plan = upper
            while plan is not None and lower is not None and plan.total != lower.total and plan.peak - 1 > lower.at:
                yield plan, plan.peak, plan.at
                plan = self.best(self._limited(plan.peak - 1), plan.peak - 1)
            if plan is not None and lower is not None and plan.total == lower.total:
                yield replace(lower, is_exact=lower.is_exact and plan.is_exact), lower.at + 1, plan.at
            elif plan is not None:
                yield plan, plan.peak, plan.at

    def _limited(self, limit: int | None) -> SearchProblem:
        return replace(self.problem, locations={**self.problem.locations, self.location: limit})

    def by_link(self) -> Iterator[tuple[_Best, float, float]]:
        """Yield (best plan, from, to) by how much slower the link is, the fastest first."""
        fast, slow = (self.best(_with_link(self.problem, self.location, slower), slower) for slower in (1 / MOST_SLOWER, MOST_SLOWER))
        if fast is None or slow is None:
            return
        turns = [(fast, fast.at), *self._between(fast, slow)]
        for (best, first), last in zip(turns, [turn for _, turn in turns[1:]] + [slow.at], strict=True):
            yield best, first, last

    def _between(self, fast: _Best, slow: _Best) -> Iterator[tuple[_Best, float]]:
        """Yield each plan after `fast` up to `slow`, with where it becomes the best."""
        saved = fast.linked - slow.linked
        if saved <= 0 or fast.chosen == slow.chosen:
            return
        turn = ((slow.total - slow.linked * slow.at) - (fast.total - fast.linked * fast.at)) / saved
        if not fast.at < turn < slow.at:
            return
        between = self.best(_with_link(self.problem, self.location, turn), turn)
        lines = slow.total + slow.linked * (turn - slow.at)
        if between is None or between.total >= lines * (1 - _EQUAL):
            yield slow, turn
            return
        yield from self._between(fast, between)
        yield from self._between(between, slow)


def device_curve(record: RunRecord, terms: Terms, location: str, quantity: str) -> DeviceCurve:
    """Return how the best plan of a run under `terms` changes with the memory of a location, or with the speed of its links.

    Args:
        quantity: ``memory`` or ``link``.

    Raises:
        CollageError: there is no such location beside the host, or no such quantity.
    """
    curve = _Curve(record, terms, location)
    pieces: list[DevicePiece] = []
    if quantity == "memory":
        for best, first, last in curve.by_memory():
            piece = _piece(curve, best, first, last, (best.total, best.total))
            follows = bool(pieces) and pieces[0].first == last + 1 and pieces[0].first_s == piece.first_s
            pieces[:follows] = [replace(piece, last=pieces[0].last) if follows else piece]
    elif quantity == "link":
        for best, first, last in curve.by_link():
            totals = tuple(round(best.total + best.linked * (slower - best.at)) for slower in (last, first))
            pieces.insert(0, _piece(curve, best, 1 / last, 1 / first, totals))
    else:
        raise CollageError(f"{quantity!r} is no quantity of a device", "ask for memory or link", "bad_option")
    now = curve.problem.locations.get(location) if quantity == "memory" else 1.0
    texts = tuple(_text(piece, location, quantity) for piece in pieces)
    return DeviceCurve(location, quantity, now, tuple(pieces), curve.is_complete, texts)


def _piece(curve: _Curve, best: _Best, first: float, last: float, totals: Sequence[int]) -> DevicePiece:
    problem, candidates = curve.problem, [curve.problem.candidates[index] for index in best.chosen]
    copies = [copy for copy in plan_copies(problem, best.chosen) if curve.location in (copy.source, copy.destination)]
    return DevicePiece(
        first=first,
        last=last,
        first_s=totals[0] / FEMTOSECONDS,
        last_s=totals[1] / FEMTOSECONDS,
        is_exact=best.is_exact,
        nodes=tuple(sorted(node for item in candidates if problem.location(item.target) == curve.location for node in item.inside)),
        copied=tuple(dict.fromkeys(problem.tensors[copy.tensor].name for copy in copies)),
        copied_bytes=sum(problem.tensors[copy.tensor].bytes for copy in copies),
    )


_UNIT: Mapping[str, Callable[[float], str]] = {"memory": bytes_text, "link": lambda value: f"{decimal(value, 3)}"}


def _text(piece: DevicePiece, location: str, quantity: str) -> str:
    write = _UNIT[quantity]
    span = f"{write(piece.first)} to {write(piece.last)}" if piece.first < piece.last else write(piece.first)
    where = f"with {span} of memory" if quantity == "memory" else f"with a link of {span} times its speed"
    took = duration(piece.first_s) if piece.first_s == piece.last_s else f"{duration(piece.first_s)} to {duration(piece.last_s)}"
    cut = f", {counted(len(piece.copied), 'tensor')} ({bytes_text(piece.copied_bytes)}) copied" if piece.copied else ""
    return f"{where}: {took}, {counted(len(piece.nodes), 'node')} on {location}{cut}{'' if piece.is_exact else ', not proven the best'}"
