"""`Terms`: what a plan on known costs has to hold: constraints, targets that are switched off, and the largest error. Plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..search.constraints.constraints import Constraint, parse_constraints, switch_off
from ..search.problem import SearchProblem


@dataclass(frozen=True)
class Terms:
    """What a plan has to hold.

    Attributes:
        constraints: As a constraints file lists them.
        accuracy: Largest relative error of a partition; None for that of the run.
        switched_off: Names of targets that take no node. Where they collide, `InfeasibleError` names them beside the constraints.
    """

    constraints: Sequence[Mapping[str, Any]] = ()
    accuracy: float | None = None
    switched_off: Sequence[str] = ()

    @property
    def key(self) -> str:
        """The same for equal terms."""
        return json.dumps([list(self.constraints), self.accuracy, list(self.switched_off)], sort_keys=True)

    @property
    def listed(self) -> tuple[dict[str, Any], ...]:
        """The constraints, and a veto of each target that is switched off: what a plan file lists."""
        return (*(dict(item) for item in self.constraints), *({"kind": "veto", "target": target} for target in self.switched_off))

    def parse(self, problem: SearchProblem) -> list[Constraint]:
        """The terms but for the accuracy, as constraints of `problem`.

        Raises:
            CollageError: a constraint is malformed, or a target is not known.
        """
        return [*parse_constraints(list(self.constraints), problem), *switch_off(problem, self.switched_off)]
