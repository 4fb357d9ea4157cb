"""What if: the best plan on costs that are known under other terms, and what each of the terms costs.

What enters is the record of a run, and terms: constraints, and the largest error that a plan may have. What leaves is a plan, or
differences between totals. Nothing is measured, built or kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InfeasibleError
from ..events import Emit, ignore
from ..pipeline.plan_documents import placed_partitions, placed_transitions, plan_document
from ..pipeline.record import CostedCandidate, RunRecord, usable
from ..pipeline.search_and_merge import Planned, SearchSettings, search_first, searched
from ..rewrite.plan import Plan
from ..search.constraints.constraints import Constraint, allowed_indices, parse_constraints
from ..search.problem import FEMTOSECONDS

LONGEST_S = 5.0
"""How long the effects of terms may take; those that are not known by then are left out."""


@dataclass(frozen=True)
class Terms:
    """What a plan has to hold.

    Attributes:
        constraints: As a constraints file lists them.
        accuracy: Largest relative error of a partition; None for that of the run.
    """

    constraints: Sequence[Mapping[str, Any]] = ()
    accuracy: float | None = None

    @property
    def key(self) -> str:
        """The same for equal terms."""
        return json.dumps([list(self.constraints), self.accuracy], sort_keys=True)


@dataclass(frozen=True)
class Term:
    """One of the terms that can be taken back: itself alone, and all the others without it."""

    alone: Terms
    others: Terms


@dataclass(frozen=True)
class Effect:
    """What one of the terms does.

    Attributes:
        alone_s: What it costs alone: the best total under it, less the best total under none. None where no plan holds it.
        saves_s: What taking it back would save: the best total under all, less the best under all others. None where no plan
            holds them.
        refuses: How many candidates it forbids.
    """

    alone_s: float | None
    saves_s: float | None
    refuses: int


def under_accuracy(record: RunRecord, accuracy: float | None) -> RunRecord:
    """The record, with the candidates that err by more than `accuracy` as invalid ones."""
    if accuracy is None or accuracy == record.plan.accuracy:
        return record
    costed = [CostedCandidate(item.held, item.cost.judged(accuracy)) for item in record.candidates]
    pairs = zip(record.problem.candidates, usable(record.candidates), strict=True)
    kept = [candidate for candidate, item in pairs if not item.cost.judged(accuracy).is_invalid]
    problem = record.problem.with_candidates(kept)
    return replace(record, candidates=costed, problem=problem, plan=record.plan.model_copy(update={"accuracy": accuracy}))


def untimed(record: RunRecord, accuracy: float | None) -> int:
    """How many candidates are accurate enough now, and were not when the run measured: what they take nobody knows."""
    if accuracy is None:
        return 0
    refused = (item.cost for item in record.candidates if item.cost.is_invalid and item.cost.stage == "numerics")
    return sum(1 for cost in refused if cost.error is not None and cost.error <= accuracy)


@dataclass(frozen=True)
class WhatIfResult:
    """The best plan under other terms, and the record that it was found in: candidates that err too much are out."""

    record: RunRecord
    planned: Planned
    constraints: list[Constraint]
    plan: Plan


def replanned(record: RunRecord, terms: Terms, emit: Emit = ignore) -> WhatIfResult:
    """The best plan under `terms`.

    Raises:
        CollageError: a constraint is malformed.
        InfeasibleError: no plan holds them.
    """
    parsed = parse_constraints(list(terms.constraints), record.problem)
    judged = under_accuracy(record, terms.accuracy)
    result = search_first(judged.problem, parsed, SearchSettings.given(record.plan.options), emit)
    planned = Planned(result, result, judged.problem, judged.candidates)
    changes = {
        "constraints": tuple(dict(item) for item in terms.constraints),
        "total_s": result.total / FEMTOSECONDS,
        "partitions": placed_partitions(record.graph, planned),
        "transitions": placed_transitions(planned),
    }
    return WhatIfResult(judged, planned, parsed, judged.plan.model_copy(update=changes))


def what_if(record: RunRecord, terms: Terms) -> dict[str, Any]:
    """The best plan under `terms`, as the ``plan`` part of a document, whether it is proven, and what is `untimed`.

    Raises:
        CollageError: as `replanned`.
    """
    found = replanned(record, terms)
    return {"plan": plan_document(found.plan), "optimal": found.planned.final.optimal, "untimed": untimed(record, terms.accuracy)}


def effects(record: RunRecord, everything: Terms, terms: Sequence[Term]) -> list[Effect]:
    """What each of `terms` does, in their order; the last ones are left out where that takes too long."""
    totals = _Totals(record)
    began = time.monotonic()
    made: list[Effect] = []
    for term in terms:
        if time.monotonic() - began > LONGEST_S:
            break
        alone_s = _difference(totals.of(term.alone), totals.of(Terms()))
        saves_s = _difference(totals.of(everything), totals.of(term.others))
        made.append(Effect(alone_s, saves_s, totals.refused_by(term.alone)))
    return made


def _difference(a: int | None, b: int | None) -> float | None:
    return None if a is None or b is None else (a - b) / FEMTOSECONDS


class _Totals:
    """The least totals under terms of one run, each found once."""

    def __init__(self, record: RunRecord):
        self._record = record
        self._how = SearchSettings.given(record.plan.options)
        self._known: dict[str, int | None] = {}

    def of(self, terms: Terms) -> int | None:
        """Femtoseconds; None where no plan holds `terms`."""
        if terms.key not in self._known:
            self._known[terms.key] = self._found(terms)
        return self._known[terms.key]

    def _found(self, terms: Terms) -> int | None:
        parsed = parse_constraints(list(terms.constraints), self._record.problem)
        try:
            return searched(under_accuracy(self._record, terms.accuracy).problem, parsed, self._how, ignore).total
        except InfeasibleError:
            return None

    def refused_by(self, terms: Terms) -> int:
        """How many candidates `terms` forbid."""
        judged = under_accuracy(self._record, terms.accuracy).problem
        allowed = allowed_indices(judged, parse_constraints(list(terms.constraints), self._record.problem))
        return len(self._record.problem.candidates) - len(allowed)
