"""Objectives: the measures by which a plan is chosen (time, bytes moved, partitions, peak memory), and a plan's values of them.

The text of an objective is a list of steps, ``bytes,time`` (fewest bytes; of equals the fastest), or of weighted sums,
``time+2e-10*bytes`` (time counts in seconds, so a weight is seconds for each byte or partition). All sums are whole numbers.

Fewest nodes of unknown cost come first whatever the objective, and time decides between equals. `objective_search` finds plans.
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
from .plan_properties import peak_bytes, plan_total, plan_transitions
from .problem import FEMTOSECONDS, HOST_NAME, SearchProblem

MEASURES = ("time", "bytes", "partitions", "memory")
"""The measures: seconds; bytes handed from one target to another; number of partitions; peak bytes while the plan runs."""

_TERM = re.compile(r"\s*(?:(\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,2})?)\s*\*\s*)?([a-z]+)\s*", re.IGNORECASE)
_PLUS = re.compile(r"(?<!\d[eE])\+")
"""A plus sign between two terms, not in a number such as 1e+3."""


@dataclass(frozen=True, slots=True)
class PlanMeasures:
    """A plan's value of each measure.

    Attributes:
        time: Femtoseconds of the known costs and the transitions.
        bytes: Bytes that one target makes and another reads, counted for each reading partition; without those of the host.
        partitions: Number of partitions.
        memory: Most bytes that are held between partitions at once (see `execution_order`).
        unknown_nodes: Number of nodes of unknown cost.
    """

    time: int
    bytes: int
    partitions: int
    memory: int
    unknown_nodes: int

    def to_json(self) -> dict[str, float | int]:
        """Return the values with their units, as `collage search` prints them."""
        return {
            "time_s": self.time / FEMTOSECONDS,
            "bytes": self.bytes,
            "partitions": self.partitions,
            "memory_bytes": self.memory,
            "unknown_nodes": self.unknown_nodes,
        }


@dataclass(frozen=True)
class Objective:
    """The order of plans: they are compared step by step, and each step is a weighted sum of measures.

    Attributes:
        steps: For each step, measure → whole factor; time counts in femtoseconds.
        text: The text as the user gave it.
    """

    steps: tuple[Mapping[str, int], ...] = field(default=(MappingProxyType({"time": 1}),))
    text: str = "time"

    @property
    def is_time(self) -> bool:
        """Return whether plans are compared by time alone, as every searcher does by itself."""
        return [dict(step) for step in self.steps] == [{"time": 1}]

    @property
    def is_additive(self) -> bool:
        """Return whether every step is a sum over candidates and transitions."""
        return not any("memory" in step for step in self.steps)

    def value(self, measures: PlanMeasures) -> tuple[int, ...]:
        """Return the key by which plans are compared; the least is best."""
        steps = (sum(factor * getattr(measures, name) for name, factor in step.items()) for step in self.steps)
        return measures.unknown_nodes, *steps


TIME = Objective()


def parse_objective(text: str) -> Objective:
    """Return the objective that `text` states.

    Raises:
        CollageError: `text` is no objective; the message quotes the part that is wrong.
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
                f"the objective {text!r} holds {term.strip()!r}, which is not a measure with a weight",
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
    """Return the measures of the plan `chosen`, computed by their definitions."""
    candidates = [problem.candidates[index] for index in chosen]
    unknown = sum(len(c.inside) for c in candidates if c.is_unknown)
    transitions = plan_transitions(problem, chosen)
    moved = sum(problem.tensors[tensor].bytes for maker, reader, tensor, _ in transitions if is_moved(maker, reader))
    return PlanMeasures(plan_total(problem, chosen), moved, len(chosen), peak_bytes(problem, chosen), unknown)


def is_moved(maker: str, reader: str) -> bool:
    """Return whether a transition counts as bytes moved: it is between two different targets, neither of them the host."""
    return maker != reader and HOST_NAME not in (maker, reader)
