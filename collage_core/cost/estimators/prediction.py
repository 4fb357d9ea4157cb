"""`Predictor`: a heuristic lower bound on the cost of a candidate that was not measured yet, from those that were measured.

A target's cost is modelled as a sum: a part for the call, one for each node, for the bytes at the border, for the operations of
each kind of heavy work, and for the bytes that light nodes read and write. The factors are fitted to the costs measured on the
target (non-negative least squares of the relative error). Work that was not measured yet keeps a rate that is half as much again
as the best seen on this model, so it looks attractive and is tried. So does a kind of work that was only measured together with
others that may have taken most of the time: the fit cannot tell which of them took it. By how much measured costs are below their
own prediction tells by how much an unmeasured one may be below its own: the bound is a quantile of that.

Where a target's own profiler told how long its kernels take (`Profiles`), a second model bounds the cost of a candidate as well: a part
for the call, the time of its nodes inside the profiled part, and the time of the nodes that this candidate tears out of a kernel, which
takes them together with others. Of both bounds the higher one counts: rates know what small parts take beside their kernels, and
profiles know which kernels are slow. The second model also gives the expected cost, with an interval that is as wide as the measured
costs of the target miss it (`Predictor.estimates`).

The bound is no proof; `make bench-costs` measures what it loses.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from ...graph.dataflow_graph import DataflowGraph
from ...graph.index_set import IndexSet
from ...graph.sub_graph import SubGraph
from ...graph.work_estimate import BY_BYTES, WORK_KINDS, WorkEstimator, work_kind
from ..measuring.intervals import NORMAL_95
from .profiles import Profiles

FEATURES = ("call", "node", "border_bytes", *WORK_KINDS)
_IS_HEAVY = np.array([name in WORK_KINDS and name not in BY_BYTES for name in FEATURES])
CALL_S, NODE_S = 2e-6, 0.2e-6
CALLS_S = (CALL_S, 20e-6, 200e-6, 2e-3)
"""Seconds that a call may take: some toolchains wake threads, which takes milliseconds on a busy machine."""
DEARER = 0.05
"""A dearer one of these is only believed where it makes the misses of the fit less by so much."""
BYTES_PER_S = 20e9
"""Rates of work that was not measured yet: about the best that there are."""
BETTER = 1.5
"""The rate of heavy work may be so many times the best seen on the whole model."""
LEAST_OPERATIONS_PER_S = 2e9
ALONE = 0.5
"""A rate counts as measured when the other kinds of heavy work can have taken no more than this share of a measurement."""
SLOWEST = 30.0
"""No rate of heavy work is taken to be so many times slower than that of work that was not measured yet."""
HOLD = 0.05
"""Weight of those rates in the fit, where a measurement has weight 1."""
FEW = 3
"""With no more measurements than these on a target, an unmeasured one may cost half of its prediction."""
TORN = 0.3
"""The time that nodes out of the middle of a kernel are expected to take more, as a share of their time in it."""
UNTRIED = 0.8
"""With no more measurements than `FEW` beside a profile, an unmeasured candidate may cost this share of its prediction."""

MOST_OFF = 1.3
"""An estimate is corrected by this factor at most to fit the measured part that holds it."""
MISS = 0.15
"""Standard deviation that the misses of estimates from a profile are taken to have, weighted as `FEW` measurements."""

Known = Mapping[tuple[str, IndexSet], float]
"""(target, nodes) → measured seconds."""


class Predictor:
    """Predicts costs over one graph."""

    def __init__(self, graph: DataflowGraph):
        self._graph = graph
        self._work = WorkEstimator(graph)
        self._features: dict[IndexSet, np.ndarray] = {}
        self._border_bytes: dict[IndexSet, int] = {}
        self.profiles = Profiles(graph, ())

    def bounds(self, known: Known, wanted: Iterable[tuple[str, IndexSet]], quantile: float) -> dict[tuple[str, IndexSet], float]:
        """Return a lower bound in seconds for each of `wanted`, as far as `known` tells.

        Args:
            quantile: Share of the measured whose cost, relative to its own prediction, lies below the bound. Less is safer.
        """
        by_target, prior = _by_target(known), self._prior(known)
        models = {target: self._fitted(measured, prior, quantile) for target, measured in by_target.items()}
        profiled = {target: self._fitted_to_profile(target, by_target[target]) for target in self.profiles.targets}
        unseen = (prior, 0.5, 0.0)
        bounds = {}
        for target, inside in wanted:
            factors, share, floor = models.get(target, unseen)
            bound = max(floor, share * float(self._of(inside) @ factors))
            told = self._profiled(target, inside)
            if told is not None:
                factors, ratios = profiled[target]
                share = min(1.0, float(np.quantile(ratios, quantile))) if len(ratios) > FEW else UNTRIED
                bound = max(bound, share * float(told @ factors))
            bounds[target, inside] = bound
        return bounds

    def estimates(self, known: Known, wanted: Iterable[tuple[str, IndexSet]]) -> dict[tuple[str, IndexSet], tuple[float, float]]:
        """Return the expected seconds of those of `wanted` that were profiled, and by how much each may be off either way (95 %).

        Where a part that holds it was measured, the least of these says how fast its nodes are: so two halves of what was measured
        as one are hardly ever expected to take less than that. One that is off by more than `MOST_OFF` was disturbed itself.
        """
        by_target, models = _by_target(known), {}
        for target in self.profiles.targets:
            factors, ratios = self._fitted_to_profile(target, by_target[target])
            middle = float(np.median(ratios)) if len(ratios) > FEW else 1.0
            squares = FEW * MISS**2 + float(((ratios / middle - 1) ** 2).sum())
            width = NORMAL_95 * math.sqrt(squares / (FEW + len(ratios)))
            smallest_first = sorted(by_target[target], key=lambda measured: len(measured[0]))
            profiled = [(inside, seconds, self._profiled(target, inside)) for inside, seconds in smallest_first]
            ratios_of = [
                (inside, seconds / float(features @ (middle * factors))) for inside, seconds, features in profiled if features is not None
            ]
            corrections = [(inside, min(max(ratio, 1 / MOST_OFF), MOST_OFF)) for inside, ratio in ratios_of]
            models[target] = middle * factors, width, corrections
        found = {}
        for target, inside in wanted:
            told = self._profiled(target, inside)
            if told is not None:
                factors, width, corrections = models[target]
                seconds = float(told @ factors)
                seconds *= next((ratio for measured, ratio in corrections if inside.issubset(measured)), 1.0)
                found[target, inside] = seconds, width * seconds
        return found

    def _fitted_to_profile(self, target: str, measured: list[tuple[IndexSet, float]]) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors of what `_profiled` returns, and each measured cost over its own prediction."""
        # SciPy takes most of a second to import, and a run that finds all costs in the database does without.
        from scipy.optimize import nnls

        told = [(self._profiled(target, inside), seconds) for inside, seconds in measured]
        relative = np.array([features / seconds for features, seconds in told if features is not None and seconds > 0])
        priors = [np.array([call_s, 1.0, TORN, 1 / BYTES_PER_S]) for call_s in CALLS_S]
        if not len(relative):
            return priors[0], np.empty(0)
        fits = []
        for number, prior in enumerate(priors):
            rows = np.vstack([relative, np.diag(HOLD / prior)])
            scale = np.maximum(np.abs(rows).max(axis=0), 1e-30)
            factors, miss = nnls(rows / scale, np.concatenate([np.ones(len(relative)), np.full(len(prior), HOLD)]))
            fits.append((miss**2 + DEARER * number, number, factors / scale))
        factors = min(fits)[2]
        return factors, 1 / np.maximum(relative @ factors, 1e-9)

    def _profiled(self, target: str, inside: IndexSet) -> np.ndarray | None:
        """Return a call, the seconds of the nodes `inside`, those of them that are torn, and the bytes at the border; None as `times`."""
        times = self.profiles.times(target, inside)
        if times is None:
            return None
        if inside not in self._border_bytes:
            part = SubGraph(self._graph, inside)
            names = (*part.input_tensors(), *part.output_tensors())
            self._border_bytes[inside] = sum(self._graph.types[name].bytes for name in names)
        return np.array([1.0, *times, self._border_bytes[inside]])

    def _prior(self, known: Known) -> np.ndarray:
        rates = [self._work(inside).operations / seconds for (_, inside), seconds in known.items()]
        heavy = 1 / (BETTER * max([LEAST_OPERATIONS_PER_S, *rates]))
        given = {"call": CALL_S, "node": NODE_S, "border_bytes": 1 / BYTES_PER_S, **dict.fromkeys(BY_BYTES, 1 / BYTES_PER_S)}
        return np.array([given.get(name, heavy) for name in FEATURES])

    def _fitted(self, measured: list[tuple[IndexSet, float]], prior: np.ndarray, quantile: float) -> tuple[np.ndarray, float, float]:
        """Return the factors, the share of a prediction that is the bound, and the least seconds of a call."""
        from scipy.optimize import nnls

        seconds = np.array([max(cost, 1e-9) for _, cost in measured])
        relative = np.array([self._of(inside) for inside, _ in measured]) / seconds[:, None]
        rows = np.vstack([relative, np.diag(HOLD / prior)])
        scale = np.abs(rows).max(axis=0)
        factors = nnls(rows / scale, np.concatenate([np.ones(len(seconds)), np.full(len(prior), HOLD)]))[0] / scale
        ratios = 1 / np.maximum(relative @ factors, 1e-9)
        share = min(1.0, float(np.quantile(ratios, quantile))) if len(measured) > FEW else 0.5
        factors = np.where(_IS_HEAVY & ~_told_apart(relative, prior), np.minimum(factors, prior), factors)
        singles = [cost for inside, cost in measured if len(inside) == 1]
        return factors, share, 0.8 * min([CALL_S, *singles])

    def _of(self, inside: IndexSet) -> np.ndarray:
        if inside not in self._features:
            self._features[inside] = self._counted(inside)
        return self._features[inside]

    def _counted(self, inside: IndexSet) -> np.ndarray:
        graph = self._graph
        counted = dict.fromkeys(FEATURES, 0.0)
        counted["call"], counted["node"], counted["border_bytes"] = 1.0, float(len(inside)), float(self._work(inside).bytes)
        for index in inside:
            node = graph.nodes[index]
            kind = work_kind(graph, node)
            if kind in BY_BYTES:
                moved = {name for name in node.inputs if name in graph.types}
                counted[kind] += sum(graph.types[name].bytes for name in moved) + sum(tensor.type.bytes for tensor in node.outputs)
            else:
                counted[kind] += self._work.operations(index)
        return np.array(list(counted.values()))


def _by_target(known: Known) -> dict[str, list[tuple[IndexSet, float]]]:
    by_target: dict[str, list[tuple[IndexSet, float]]] = defaultdict(list)
    for (target, inside), seconds in known.items():
        by_target[target].append((inside, seconds))
    return by_target


def _told_apart(relative: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return for each feature whether some measurement tells the rate of its kind of work apart from those of other kinds.

    An operation of no kind takes longer than it would if its kind took all the time of a measurement.

    Args:
        relative: For each measurement its features, divided by its seconds.
        prior: Seconds of work that was not measured yet.
    """
    heavy = relative * _IS_HEAVY
    most = np.minimum(1 / np.maximum(heavy.max(axis=0), 1e-30), SLOWEST * prior)
    shares = np.minimum(heavy * most, 1.0)
    others = shares.sum(axis=1, keepdims=True) - shares
    is_told: np.ndarray = ((others <= ALONE) & (heavy > 0)).any(axis=0)
    return is_told
