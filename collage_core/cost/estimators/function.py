"""`FunctionEstimator`: costs that a Python function of the user's gives, in this process, since it is the user's own.

What enters are candidates; what leaves is what the function says of each: seconds (source ``estimate``), None (unknown), or
what it raises (invalid, with its words). An answer that is no cost is a mistake, told with the function and the candidate.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any

from ...errors import Cancelled, CollageError
from ...events import Emit, Note, ignore
from ...graph.dataflow_graph import DataflowGraph
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ...toolchains.reasons import one_line
from ..cost import Cost
from ..database.record_validation import LARGEST_S
from ..estimator import Known
from ..transition import TransitionModel

CostFunction = Callable[[CandidatePartition], float | None]
"""Seconds of one run of a candidate (its ``target``, ``inside``, ``sub_graph`` and ``graph`` say what it is); None where
it cannot say; it raises where the target cannot take the candidate."""
KIND = "function:"
"""What ``--costs`` is called where a function gives them."""


def function_name(function: CostFunction) -> str:
    """What a function is called in messages and in the plan."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


class FunctionEstimator:
    """Asks `function` once for each distinct computation of a target; equal ones share its answer.

    Args:
        emit: Gets a `Note` that says that these are estimates, and one of the first candidate that the function raises for.
        should_stop: Asked before each call; True ends the work with `Cancelled`.
    """

    machine = ""

    def __init__(self, function: CostFunction, emit: Emit = ignore, should_stop: Callable[[], bool] | None = None):
        self._function = function
        self._words = f"the function {function_name(function)!r}"
        self.name = f"{KIND}{function_name(function)}"
        self._emit = emit
        self._should_stop = should_stop
        self._told: set[str] = set()
        self._known: dict[tuple[str, int], Cost] = {}

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """Each candidate in the order given.

        Raises:
            CollageError: an answer is no number, NaN, infinite, negative or absurd.
            Cancelled: `should_stop` said so.
        """
        for candidate in candidates:
            if candidate.target == HOST_TARGET:
                yield candidate, Cost(0.0, "host"), False
                continue
            sort = (candidate.target, candidate.computation)
            if sort not in self._known:
                if self._should_stop is not None and self._should_stop():
                    raise Cancelled
                self._known[sort] = self._asked(candidate)
            yield candidate, self._known[sort], False

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """A function says nothing of hand-overs: they are free, and a `Note` says so."""
        self._tell("costs", f"every cost is an estimate by {self._words}; hand-overs are free")
        return TransitionModel()

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        return 0.0

    def close(self) -> None:
        """There is nothing to let go of."""

    def _asked(self, candidate: CandidatePartition) -> Cost:
        try:
            answer = self._function(candidate)
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything; its words are kept and shown
            reason = f"{self._words} raised {type(error).__name__}: {one_line(error)}"
            self._tell("raised", f"{reason}, asked for {_place(candidate)}: what it raises for is left out")
            return Cost.invalid("predicate", reason)
        if answer is None:
            return Cost.unknown(f"{self._words} does not know it")
        return Cost(self._checked(answer, candidate), "estimate", reason=f"by {self._words}")

    def _checked(self, answer: Any, candidate: CandidatePartition) -> float:
        """`answer` as seconds."""
        is_number = isinstance(answer, Real) and not isinstance(answer, bool)
        seconds = float(answer) if is_number else math.nan
        if not 0 <= seconds <= LARGEST_S:
            raise CollageError(
                f"{self._words} says {reprlib.repr(answer)} of {_place(candidate)}: that is no cost",
                f"return seconds from 0 to {LARGEST_S:g}, None for what is not known, or raise for what cannot be taken",
                "bad_costs",
            )
        return seconds

    def _tell(self, sort: str, text: str) -> None:
        if sort not in self._told:
            self._told.add(sort)
            self._emit(Note(text))


def _place(candidate: CandidatePartition) -> str:
    """Which candidate it is, for people."""
    names = [candidate.graph.nodes[index].name for index in candidate.inside]
    listed = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{candidate.target} on {listed}"
