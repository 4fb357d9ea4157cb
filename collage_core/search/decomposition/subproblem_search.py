"""Searching part by part: what lies between two cuts is a problem of its own, and equal ones are solved once.

A plan passes from cut to cut. What a part costs depends on who made the tensors that enter it, and what it leaves to the
next on who made those that leave; so for each way of entering the best way to each way of leaving is found (by the walk of
`best_first`, over the part alone), and the ways are put together from cut to cut. A way of leaving that is dearer than the
best by more than all readers together could gain from it is not followed. Exact, like the walk over the whole.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..problem import SearchProblem
from ..searcher import SearchRun
from ..searchers.best_first import Walk
from ..searchers.cover import Cover
from ..searchers.transition_classes import TransitionClasses
from ..weights import Weights
from .separators import Separators
from .subproblem import LEAVE, Entry, ReadySubproblem, TensorsBySubproblem, Way, Whole, spread


@dataclass(slots=True)
class Tally:
    """What the walks did together."""

    states: int = 0
    transitions: int = 0
    parts: int = 0
    stopped: bool = False


@dataclass(slots=True)
class _Reached:
    """The lightest way from the start to a cut, for one assignment of makers to what is alive there."""

    weight: int
    before: tuple[int, Entry] | None = None
    chosen: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """From one cut to a later one.

    Attributes:
        cut: Number of the cut that it leads to.
        alive: Who made each tensor that is alive there.
        weight: Of its candidates and the hand-overs to them.
        chosen: Indices of its candidates.
    """

    cut: int
    alive: Entry
    weight: int
    chosen: tuple[int, ...]


class SubproblemSearch:
    """A problem solved from cut to cut.

    Args:
        cuts: At least one that lies inside.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int], cuts: Separators, run: SearchRun):
        self.problem = problem
        self.cuts = cuts
        self.run = run
        self.tally = Tally()
        self.targets = [*dict.fromkeys(problem.candidates[index].target for index in usable), LEAVE]
        self.weights = Weights(problem, usable)
        self.hand_over = TransitionClasses(problem, self.targets, self.weights.total_shift)
        self.reached: list[dict[Entry, _Reached]] = [{} for _ in cuts.positions]
        self._whole = Whole(problem, self.targets, self.weights, self.hand_over)
        self._tensors = TensorsBySubproblem(problem, cuts.positions)
        self._cut_at = {position: cut for cut, position in enumerate(cuts.positions)}
        self._solved: dict[tuple[int, Entry, int | None], list[Way]] = {}
        self._ready: dict[int, ReadySubproblem] = {}

    def solve(self) -> tuple[int, ...] | None:
        """Indices of the candidates of a best plan; None when there is none, or when it was stopped."""
        self.reached[0][()] = _Reached(0)
        for part in range(len(self.cuts.positions) - 1):
            for alive, reached in list(self.reached[part].items()):
                for step in self.steps(part, alive):
                    self._relax(step.cut, step.alive, _Reached(reached.weight + step.weight, (part, alive), step.chosen))
                if self.tally.stopped:
                    return None
            self._drop_dear(part + 1)
            self._tell(part + 1)
        return self.chosen_to(len(self.cuts.positions) - 1, ()) if () in self.reached[-1] else None

    def steps(self, part: int, alive: Entry) -> Iterator[Step]:
        """Every way on from the cut before `part`: through the part, or with a candidate that holds it and more."""
        yield from self._through(part, alive, None)
        for index in self.cuts.past[part]:
            yield self._past(part, alive, index)

    def steps_with(self, part: int, alive: Entry, index: int) -> Iterator[Step]:
        """As `steps`, those that hold candidate `index`, which begins in `part`."""
        if index in self.cuts.past[part]:
            yield self._past(part, alive, index)
        else:
            yield from self._through(part, alive, self.cuts.within[part].index(index))

    def part_of(self, node: int) -> int:
        """The part that `node` is in."""
        return bisect.bisect_right(self.cuts.positions, node) - 1

    def _tell(self, cut: int) -> None:
        """How far it is. What is paid up to a cut is paid by every plan."""
        reached = self.reached[cut]
        lightest = min(reached, key=lambda alive: reached[alive].weight, default=None)
        if lightest is None:
            return
        tally, covered, least = self.tally, self.cuts.positions[cut], self.weights.total(reached[lightest].weight)
        newest = lambda: self.chosen_to(cut, lightest)  # noqa: E731
        self.run.reporter.progress(tally.states, tally.transitions, len(reached), covered, least, None, newest)

    def _through(self, part: int, alive: Entry, held: int | None) -> Iterator[Step]:
        tensors = self._tensors
        made_by = dict(zip(tensors.alive[part], alive, strict=True))
        entry = tuple(made_by[tensor] for tensor in tensors.entering[part])
        within = self.cuts.within[part]
        for way in self._ways(part, entry, held):
            made_by.update(zip(tensors.leaving[part], way.leaving, strict=True))
            after = tuple(made_by[tensor] for tensor in tensors.alive[part + 1])
            yield Step(part + 1, after, way.weight, tuple(within[place] for place in way.chosen))

    def _past(self, part: int, alive: Entry, index: int) -> Step:
        made_by = dict(zip(self._tensors.alive[part], alive, strict=True))
        candidate = self.problem.candidates[index]
        target = self.targets.index(candidate.target)
        behind = self._cut_at[candidate.inside.last() + 1]
        boundary = self._tensors.frame.boundary(candidate.inside)
        weight = self.weights.of(candidate)
        weight += self.hand_over.with_host(target, boundary.host_reads, [tensor for tensor, _, to_host in boundary.makes if to_host])
        reader = self.hand_over.reader_class[target]
        weight += sum(self.hand_over.between(tensor, made_by[tensor], reader) for tensor, _ in boundary.reads)
        mine = self.hand_over.maker_class[target]
        after = tuple(made_by.get(tensor, mine) for tensor in self._tensors.alive[behind])
        return Step(behind, after, weight, (index,))

    def _relax(self, cut: int, alive: Entry, way: _Reached) -> None:
        known = self.reached[cut].get(alive)
        if known is None or way.weight < known.weight or (way.weight == known.weight and self._is_earlier(way, known)):
            self.reached[cut][alive] = way

    def _is_earlier(self, way: _Reached, known: _Reached) -> bool:
        """Whether a way comes before another of equal weight in the order of plans: what they do first where they part decides."""
        mine, its = [way.chosen], [known.chosen]
        left, right = way.before, known.before
        while left != right:
            if right is None or (left is not None and left[0] >= right[0]):
                assert left is not None
                left = self._step_back(left, mine)
            else:
                right = self._step_back(right, its)
        return self._order(mine) < self._order(its)

    def _step_back(self, at: tuple[int, Entry], pieces: list[tuple[int, ...]]) -> tuple[int, Entry] | None:
        reached = self.reached[at[0]][at[1]]
        pieces.append(reached.chosen)
        return reached.before

    def _order(self, pieces: list[tuple[int, ...]]) -> list[tuple[int, int, int, tuple[int, ...]]]:
        made = []
        for index in (index for piece in reversed(pieces) for index in piece):
            candidate = self.problem.candidates[index]
            rank = self.problem.priority(candidate.target), self.targets.index(candidate.target)
            made.append((candidate.inside.base, *rank, tuple(candidate.inside)))
        return made

    def chosen_to(self, cut: int, alive: Entry) -> tuple[int, ...]:
        pieces: list[tuple[int, ...]] = []
        at: tuple[int, Entry] | None = (cut, alive)
        while at is not None:
            at = self._step_back(at, pieces)
        return tuple(index for piece in reversed(pieces) for index in piece)

    def _drop_dear(self, cut: int) -> None:
        """Forget the ways to a cut that another one beats, whoever reads what is alive there."""
        reached = self.reached[cut]
        if len(reached) < 2:
            return
        least = min(way.weight for way in reached.values())
        most = least + sum(self._most_gained(tensor, cut) for tensor in self._tensors.alive[cut])
        self.reached[cut] = {alive: way for alive, way in reached.items() if way.weight <= most}

    def _most_gained(self, tensor: int, cut: int) -> int:
        """What all readers behind a cut may gain together by having a tensor from another maker."""
        behind = sum(reader >= self.cuts.positions[cut] for reader in self.problem.tensors[tensor].readers)
        return behind * spread(self.hand_over, tensor)

    def _ways(self, part: int, entry: Entry, held: int | None) -> list[Way]:
        number = self._tensors.number(part, self.cuts.within[part], self.targets)
        key = (number, entry, held)
        if key not in self._solved:
            if number not in self._ready:
                self._ready[number] = ReadySubproblem(self._tensors.distinct[number], self._whole)
                self.tally.parts += 1
            self._solved[key] = self._ready[number].ways(entry, self._walk_to_end, held)
        return self._solved[key]

    def _walk_to_end(self, cover: Cover) -> Walk | None:
        walk = Walk(cover, SearchRun(should_stop=self.run.should_stop))
        found = walk.to_end()
        self.tally.states += len(walk.settled)
        self.tally.transitions += walk.transitions
        self.tally.stopped = self.tally.stopped or walk.stopped
        return walk if found else None
