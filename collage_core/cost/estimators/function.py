"""`FunctionEstimator`: costs that a Python function of the user returns, called in this process.

It takes candidates and gives one cost for each: the seconds that the function returns (source ``estimate``), unknown if it returns
None, invalid with its words if it raises. Any other answer is a mistake, and the error names the function and the
candidate.
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
from ...toolchains.border import one_line
from ..cost import HOST_COST, Cost, TransitionModel
from ..database.record_validation import LARGEST_S
from ..estimator import Known

CostFunction = Callable[[CandidatePartition], float | None]
"""Returns the seconds of one run of a candidate (described by its ``target``, ``inside``, ``sub_graph`` and ``graph``), or None where it
does not know them; raises where the target cannot take the candidate."""
KIND = "function:"
"""The prefix of ``--costs`` where a function gives the costs."""


class NoCostsError(CollageError):
    """Raised by a function where no cost can be had at all; it ends the run."""


class NotTakenError(Exception):
    """Raised by a function whose target cannot take the candidate; the reason of its cost is the words of the exception alone."""


class UnknownCost(Exception):
    """Raised by a function that does not know a cost, with the reason as its words."""


def function_name(function: CostFunction) -> str:
    """Return the name of a function for messages and for the plan."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


class FunctionEstimator:
    """Calls `function` once for each different computation of a target; equal ones share its answer.

    Args:
        emit: Gets a `Note` that these are estimates, and one about the first candidate for which the function raises.
        should_stop: Asked before each call; True ends the work with `Cancelled`.
        what: The costs that the function gives, for the `Note`.
        words: The function in messages.
    """

    machine = ""

    def __init__(
        self,
        function: CostFunction,
        emit: Emit = ignore,
        should_stop: Callable[[], bool] | None = None,
        what: str = "cost",
        words: str = "",
    ):
        self._function = function
        self._words = words or f"the function {function_name(function)!r}"
        self.name = f"{KIND}{function_name(function)}"
        self._emit = emit
        self._should_stop = should_stop
        self._what = what
        self._told: set[str] = set()
        self._known: dict[tuple[str, int], Cost] = {}

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """Yield each candidate in the order given.

        Raises:
            CollageError: an answer is no number, NaN, infinite, negative or too large.
            Cancelled: `should_stop` said so.
        """
        for candidate in candidates:
            if candidate.target == HOST_TARGET:
                yield candidate, HOST_COST, False
                continue
            computation_key = (candidate.target, candidate.computation)
            if computation_key not in self._known:
                if self._should_stop is not None and self._should_stop():
                    raise Cancelled
                self._known[computation_key] = self._asked(candidate)
            yield candidate, self._known[computation_key], False

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """Return free transitions, since the function says nothing of them; a `Note` says so."""
        self._tell("costs", f"every {self._what} is an estimate by {self._words}; transitions are free")
        return TransitionModel()

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        return 0.0

    def close(self) -> None:
        """Do nothing: no worker and no file is held."""

    def _asked(self, candidate: CandidatePartition) -> Cost:
        try:
            answer = self._function(candidate)
        except (NoCostsError, Cancelled):
            raise
        except UnknownCost as error:
            self._tell("unknown", str(error))
            return Cost.unknown(str(error))
        except NotTakenError as error:
            reason = one_line(error)
            self._tell("refused", f"{self._words} refuses {_described(candidate)}: {reason}")
            return Cost.invalid("predicate", reason)
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything; its words are kept and shown
            reason = f"{self._words} raised {type(error).__name__}: {one_line(error)}"
            self._tell("raised", f"{reason}, asked for {_described(candidate)}: what it raises for is left out")
            return Cost.invalid("predicate", reason)
        if answer is None:
            return Cost.unknown(f"{self._words} does not know it")
        return Cost(self._checked(answer, candidate), "estimate", reason=f"by {self._words}")

    def _checked(self, answer: Any, candidate: CandidatePartition) -> float:
        """Return `answer` as seconds."""
        is_number = isinstance(answer, Real) and not isinstance(answer, bool)
        seconds = float(answer) if is_number else math.nan
        if not 0 <= seconds <= LARGEST_S:
            raise CollageError(
                f"{self._words} says {reprlib.repr(answer)} of {_described(candidate)}: that is not a cost",
                f"return seconds from 0 to {LARGEST_S:g}, None for what is not known, or raise for what cannot be taken",
                "bad_costs",
            )
        return seconds

    def _tell(self, topic: str, text: str) -> None:
        if topic not in self._told:
            self._told.add(topic)
            self._emit(Note(text))


def _described(candidate: CandidatePartition) -> str:
    """Return the target and the first nodes of a candidate, for messages."""
    names = [candidate.graph.nodes[index].name for index in candidate.inside]
    listed = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{candidate.target} on {listed}"
