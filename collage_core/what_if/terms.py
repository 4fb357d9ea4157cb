"""`Terms`: the conditions on a plan: constraints, targets that are switched off, the largest error, costs typed in. Plain data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..documents.what_if import DeviceTerms, WhatIfRequest

if TYPE_CHECKING:
    from ..search.constraints.constraints import Constraint
    from ..search.problem import SearchProblem


@dataclass(frozen=True)
class Terms:
    """The conditions on a plan.

    Attributes:
        constraints: Pins, vetoes and cuts, as in a constraints file.
        accuracy: Largest relative error of a partition; None for that of the run.
        switched_off: Names of targets that take no node. In a conflict `InfeasibleError` names them beside the constraints.
        costs: Candidate id → seconds that the user typed in.
        devices: Location → its memory and its link.
    """

    constraints: Sequence[Mapping[str, Any]] = ()
    accuracy: float | None = None
    switched_off: Sequence[str] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    devices: Mapping[str, DeviceTerms] = field(default_factory=dict)

    @classmethod
    def of(cls, request: WhatIfRequest, known: Iterable[str]) -> Terms:
        """Return the terms of a request; of the `known` targets, those that it leaves out are switched off."""
        off = tuple(target for target in known if target not in request.targets)
        return cls(request.constraints, request.accuracy, off, request.costs, request.devices)

    @property
    def key(self) -> str:
        """A text that is equal for equal terms."""
        devices = {location: [terms.memory, terms.link] for location, terms in self.devices.items()}
        return json.dumps([list(self.constraints), self.accuracy, list(self.switched_off), dict(self.costs), devices], sort_keys=True)

    @property
    def changes_costs(self) -> bool:
        """Plans cost something else under the terms than in the run, or not: nothing that was timed end to end holds then."""
        return bool(self.costs or self.devices)

    @property
    def listed(self) -> tuple[dict[str, Any], ...]:
        """The constraints, and a veto for each target that is switched off, as a plan file lists them."""
        return (*(dict(item) for item in self.constraints), *({"kind": "veto", "target": target} for target in self.switched_off))

    def parse(self, problem: SearchProblem) -> list[Constraint]:
        """Return the terms except the accuracy and the costs as constraints of `problem`.

        Raises:
            CollageError: a constraint is malformed, or a target is not known.
        """
        from ..search.constraints.constraints import parse_constraints, switch_off  # not for a server, which passes terms on

        return [*parse_constraints(list(self.constraints), problem), *switch_off(problem, self.switched_off)]
