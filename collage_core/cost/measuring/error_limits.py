"""`ErrorLimits`: finds up to where a target that errs too much on a model may compute it, and from where on again.

The target runs a part once and keeps its own values at some boundaries. What they do to the outputs shows where the reference runs on
from there: at the boundaries that a bisection meets. Nothing is timed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...base.isolation.scratch import ScratchFolder
from ...errors import Cancelled, CollageError
from ...graph.cut_points import cut_points
from ...graph.index_set import IndexSet
from ...graph.sub_graph import SubGraph
from ...model.model import Model
from ...model.reference.accuracy import output_errors
from ..error_limit import ErrorLimit
from .activations import ActivationStore
from .trial import TrialTask
from .trial_backend import TrialBackend
from .trial_worker import ArrayFile, CheckSet

MOST_BOUNDARIES = 24
"""More would tear more kernels of the target apart than its candidates do."""
MOST_RUNS = 4
"""So often a target is run: from the beginning, and behind the first places where it errs."""


class ErrorLimits:
    """The runs over one model.

    Args:
        stores: Name of each set of inputs → the tensors of the reference on it.
        accuracy: Largest relative error of the model's outputs.
        should_stop: Asked before each run of the reference.
    """

    def __init__(
        self,
        model: Model,
        stores: Mapping[str, ActivationStore],
        backend: TrialBackend,
        accuracy: float,
        value_policy: str,
        should_stop: Callable[[], bool],
    ):
        self._model, self._stores, self._backend = model, stores, backend
        self._accuracy, self._value_policy = accuracy, value_policy
        self._should_stop = should_stop
        self._scratch = ScratchFolder()

    def of(self, target: str, inside: IndexSet, ends: Collection[int]) -> Iterator[ErrorLimit]:
        """Yield the limit of a run of `inside`, which is one of `ends`, then of what comes behind it on the reference's values, and so on.

        Raises:
            Cancelled: the time was over.
        """
        for _ in range(MOST_RUNS):
            points = [*cut_points(self._model.graph, inside, ends, MOST_BOUNDARIES), inside.last()]
            limit = self._limit(target, inside, points)
            if limit is None:
                return
            yield limit
            beyond = [point for point in points if limit.last is None or point > limit.last]
            inside = IndexSet(index for index in inside if beyond and index > beyond[0])
            if not inside:
                return

    def close(self) -> None:
        """Remove the target's values."""
        self._scratch.remove()

    def _limit(self, target: str, inside: IndexSet, points: list[int]) -> ErrorLimit | None:
        """Return the limit of a run of `inside` that is one of `points`; None where the target does not run it."""
        try:
            run = _Run(self._model, self._stores, inside, points, self._value_policy)
            run.values = self._backend.own_values(run.task(target), self._scratch.path)
        except CollageError:  # It cannot be cut out, or its values cannot be kept: nothing is known then.
            return None
        if not run.values:
            return None
        right, wrong, errors = -1, len(points), {}
        while wrong - right > 1:
            if self._should_stop():
                raise Cancelled
            # The last one first: where errors of fused kernels vanish with the fusion, nothing more is to be found out.
            at = wrong - 1 if wrong == len(points) else (right + wrong) // 2
            errors[at] = run.error_at_outputs(points[at])
            right, wrong = (at, wrong) if errors[at] <= self._accuracy else (right, at)
        last = points[right] if right >= 0 else None
        if wrong == len(points):
            return ErrorLimit(target, inside, last, 0.0, 0.0, self._accuracy)
        return ErrorLimit(target, inside, last, run.own_error(points[wrong]), errors[wrong], self._accuracy)


class _Run:
    """A run of the nodes `inside` on a target, which returns what crosses `points`, too."""

    values: Any = ()

    def __init__(self, model: Model, stores: Mapping[str, ActivationStore], inside: IndexSet, points: list[int], value_policy: str):
        self._model, self._stores, self._inside, self._value_policy = model, stores, inside, value_policy
        crossing = {point: self._part(point).output_tensors() for point in points}
        self._crossing = crossing
        self._sub_model = model.cut(inside, list(dict.fromkeys(name for names in crossing.values() for name in names)))
        ends = [tensor.name for tensor in (*self._sub_model.inputs, *self._sub_model.outputs)]
        for store in stores.values():
            store.fetch([*ends, *model.graph.outputs])

    def task(self, target: str) -> TrialTask:
        sets = [
            CheckSet(
                name,
                [store.file(tensor.name) for tensor in self._sub_model.inputs],
                [store.file(tensor.name) for tensor in self._sub_model.outputs],
            )
            for name, store in self._stores.items()
        ]
        return TrialTask(target, self._sub_model, sets[0].given, sets[0].wanted, None, further=sets[1:])

    def own_error(self, point: int) -> float:
        """Return the largest error of the target's values behind `point` against the reference."""
        return max(
            self._error(store, {name: self._own(store.file(name), files) for name in self._crossing[point]})
            for store, files in zip(self._stores.values(), self.values, strict=True)
        )

    def error_at_outputs(self, point: int) -> float:
        """Return the largest error of the model's outputs where the target computes up to `point`, and the reference what comes after."""
        graph, part = self._model.graph, self._part(point)
        rest = IndexSet(range(self._inside.first(), len(graph))) - part.inside
        largest = 0.0
        for store, files in zip(self._stores.values(), self.values, strict=True):
            values = {name: self._own(store.file(name), files) for name in self._crossing[point]}
            if rest:
                wanted = SubGraph(graph, rest).input_tensors()
                store.fetch(wanted)
                inputs = {name: values[name] if name in values else store.file(name).read() for name in wanted}
                try:
                    values |= self._model.run_part(rest, inputs)
                except CollageError:  # The reference itself refuses such values.
                    return math.inf
            largest = max(largest, self._error(store, {name: values[name] for name in graph.outputs if name in values}))
        return largest

    def _part(self, point: int) -> SubGraph:
        return SubGraph(self._model.graph, IndexSet(index for index in self._inside if index <= point))

    @staticmethod
    def _own(reference: ArrayFile, files: Mapping[str, Path]) -> Any:
        return ArrayFile(reference.tensor, files[reference.tensor.name]).read()

    def _error(self, store: ActivationStore, values: Mapping[str, Any]) -> float:
        files = {name: store.file(name) for name in values}
        rows = {name: file.rows for name, file in files.items() if file.rows is not None}
        steps = {name: file.step for name, file in files.items() if file.step}
        errors = output_errors(values, {name: file.read() for name, file in files.items()}, rows, self._value_policy, steps)
        return max((max(error - files[name].noise, 0.0) for name, error in errors.items()), default=0.0)
