"""Objectives: what a plan is chosen by where that is not its time alone: bytes moved, partitions, peak memory.

Requirement 59. What enters is a problem and an `Objective`, or its text: ``bytes,time`` (bytes first, time between equals)
or ``time+2e-10*bytes`` (a sum; time counts in seconds, so a weight is seconds for each byte or partition). What leaves is a
plan, and its `PlanMeasures`. All sums are whole numbers.

Fewest nodes of unknown cost come first whatever the objective, and time decides between equals. How an objective is
searched for stands in `objective_search`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import lcm
from types import MappingProxyType

from ..errors import CollageError
from .problem import FEMTOSECONDS, HOST_NAME, SearchProblem
from .result import plan_total, plan_transitions
from .running_order import peak_bytes

MEASURES = ("time", "bytes", "partitions", "memory")
"""What can be asked for: seconds; bytes handed from one target to another; partitions; peak bytes while the plan runs."""

_TERM = re.compile(r"\s*(?:(\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,2})?)\s*\*\s*)?([a-z]+)\s*", re.IGNORECASE)
_PLUS = re.compile(r"(?<!\d[eE])\+")
"""The plus between two terms, not that of a number such as 1e+3."""


@dataclass(frozen=True, slots=True)
class PlanMeasures:
    """What a plan has of everything that an objective can ask for.

    Attributes:
        time: Femtoseconds: the known costs and the transitions.
        bytes: Bytes that one target makes and another reads, once for each partition that reads them; the host's not.
        partitions: How many there are.
        memory: The most bytes that are held between partitions at once (see `running_order`).
        unknown_nodes: Nodes of unknown cost.
    """

    time: int
    bytes: int
    partitions: int
    memory: int
    unknown_nodes: int

    def to_json(self) -> dict[str, float | int]:
        """As `collage search` prints it."""
        return {
            "time_s": self.time / FEMTOSECONDS,
            "bytes": self.bytes,
            "partitions": self.partitions,
            "memory_bytes": self.memory,
            "unknown_nodes": self.unknown_nodes,
        }


@dataclass(frozen=True)
class Objective:
    """What plans are compared by, one step after another; a step is a weighted sum of measures.

    Attributes:
        steps: For each step, measure → whole factor; time counts in femtoseconds.
        text: As it was given.
    """

    steps: tuple[Mapping[str, int], ...] = field(default=(MappingProxyType({"time": 1}),))
    text: str = "time"

    @property
    def is_time(self) -> bool:
        """Nothing is asked for but what every search looks for."""
        return [dict(step) for step in self.steps] == [{"time": 1}]

    @property
    def is_additive(self) -> bool:
        """Every step adds up over candidates and hand-overs."""
        return not any("memory" in step for step in self.steps)

    def value(self, measures: PlanMeasures) -> tuple[int, ...]:
        """What plans are compared by; the least is best."""
        steps = (sum(factor * getattr(measures, name) for name, factor in step.items()) for step in self.steps)
        return measures.unknown_nodes, *steps


TIME = Objective()


def parse_objective(text: str) -> Objective:
    """The objective that `text` states.

    Raises:
        CollageError: it is none; the message quotes the part that is wrong.
    """
    steps = [_parse_step(part, text) for part in text.split(",")]
    alone = [next(iter(step)) for step in steps if len(step) == 1]
    twice = next((name for name in alone if alone.count(name) > 1), None)
    if twice is not None:
        raise CollageError(f"the objective {text!r} names {twice} twice", "name it once: the first counts", "bad_objective")
    if "time" not in alone:
        steps.append({"time": 1})
    return Objective(tuple(steps), text)


def _parse_step(part: str, text: str) -> dict[str, int]:
    weights: dict[str, Fraction] = {}
    for term in _PLUS.split(part):
        matched = _TERM.fullmatch(term)
        name = matched.group(2).lower() if matched else ""
        if matched is None or name not in MEASURES or name in weights:
            raise CollageError(
                f"the objective {text!r} holds {term.strip()!r}, which is no measure with a weight",
                f"give measures ({', '.join(MEASURES)}), as bytes,time or time+2e-10*bytes",
                "bad_objective",
            )
        weight = Fraction(Decimal(matched.group(1) or "1"))
        if not weight:
            raise CollageError(f"the objective {text!r} gives {name} the weight 0", "leave it out", "bad_objective")
        weights[name] = weight if name == "time" else weight * FEMTOSECONDS
    if len(weights) == 1:
        return dict.fromkeys(weights, 1)
    whole = lcm(*(weight.denominator for weight in weights.values()))
    return {name: int(weight * whole) for name, weight in weights.items()}


def measures(problem: SearchProblem, chosen: Sequence[int]) -> PlanMeasures:
    """What the plan `chosen` has of everything, by the definitions and nothing else."""
    candidates = [problem.candidates[index] for index in chosen]
    unknown = sum(len(c.inside) for c in candidates if c.is_unknown)
    handed = plan_transitions(problem, chosen)
    moved = sum(problem.tensors[tensor].bytes for maker, reader, tensor, _ in handed if is_moved(maker, reader))
    return PlanMeasures(plan_total(problem, chosen), moved, len(chosen), peak_bytes(problem, chosen), unknown)


def is_moved(maker: str, reader: str) -> bool:
    """Whether a hand-over counts as bytes moved: between two targets, of which the host is none."""
    return maker != reader and HOST_NAME not in (maker, reader)
