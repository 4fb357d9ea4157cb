"""`ShapeRun`: a run at one of several planned shapes, which answers what the plan of another shape would take at its own.

A `SearchedRun` enters; its decisions leave, at its own shape and over all of them. Plans are known by their parts: target and nodes, which
mean the same at every shape. Costs that are missing are measured here, as far as there is time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace

from ...base.isolation.worker import Pool
from ...cost.cost import Cost
from ...documents.plan import PlanPart
from ...documents.run import Alternative, RunDocument
from ...documents.verify import Verify
from ...errors import CollageError
from ...events import ignore
from ...graph.index_set import IndexSet
from ...model.sizes.planned_shapes import PlannedShape
from ...rewrite.plan import Plan
from ...rules.candidate import CandidatePartition
from ...rules.partitionings import ALL_SHAPES
from ...rules.spec import HOST_TARGET
from ...search.plan_properties import plan_total
from ...search.problem import FEMTOSECONDS, SearchProblem
from ...search.searcher import SearchResult
from ..apply import check_accuracy, make_folder
from ..decision import Decision
from ..inside.additive_error import additive_error_s, correction_s
from ..loop.cost_table import is_settled
from ..loop.search_and_merge import Planned, known_total_s
from ..record.record import RunRecord, merged_rule
from ..searched_run import SearchedRun
from ..whole.assemble_and_verify import build_and_verify
from ..whole.baselines import BaselinePlan, find_baselines
from ..whole.choose_finalists import another_plan
from ..whole.finalists import RIVAL, SEARCHED, Kind

Part = tuple[str, IndexSet]
"""Target and nodes of a candidate."""
Parts = frozenset[Part]
"""A plan, whatever the shape."""

MORE_S = 15.0
"""Longest that measuring for plans of other shapes may take at each shape, on top of its budget, at a time."""


class ShapeRun:
    """A run at one shape.

    Attributes:
        decision: What the search at this shape alone decided; None where nothing was searched.
        own: The plan of the least sum at this shape; empty where nothing was searched.
        found: The same in the problem of all that is known here.
    """

    def __init__(self, shape: PlannedShape, run: SearchedRun):
        self.shape = shape
        self.run = run
        self.decision: Decision | None = None
        self.own: Parts = frozenset()
        self.found: Planned | None = None
        self._by_part: dict[Part, CandidatePartition] = {}
        self._add(run.loop.table.candidates)

    @property
    def names(self) -> list[str]:
        """The names of the graph's nodes: plans of two shapes correspond where these are equal."""
        return [node.name for node in self.run.found.graph.nodes]

    @property
    def parts(self) -> Iterable[Part]:
        """All parts that were found or made so far."""
        return self._by_part

    def search(self) -> None:
        """Find the plan of the least sum at this shape."""
        with closing(self.run):
            self.decision = decision = self.run.search(self.run.cost())
        self._add(self.run.loop.table.merged)
        self._add(item.held for item in decision.planned.costed if isinstance(item.held, CandidatePartition))
        self.found, self.own = decision.searched, parts_of(decision.searched)

    def search_again(self) -> None:
        """Find the plan of the least sum once more, since plans of other shapes brought costs of more candidates.

        The plan stays where nothing better came up, so that what decided between equal plans does; and where a better one rests on costs
        that nobody knows.
        """
        assert self.decision is not None
        run, table, searched = self.run, self.run.loop.table, self.decision.searched
        everything = dict.fromkeys([*table.candidates, *table.merged, *self._by_part.values()])
        planned = replace(run.plans.best(table.costed_of(everything), ignore), first=searched.first)
        parts, is_known = parts_of(planned), not any(self.is_open(part) for part in parts_of(planned))
        if parts == parts_of(self.decision.best) or not is_known:
            own = self.planned(self.own)
            assert own is not None
            is_optimal = searched.final.optimal and is_known
            final = replace(searched.final, chosen=own.final.chosen, total=own.final.total, optimal=is_optimal)
            planned = replace(own, first=searched.first, final=final)
        self.found, self.own = planned, parts_of(planned)

    def cost(self, part: Part) -> Cost | None:
        """Return what is known of the cost of `part`; None where no rule found it at this shape."""
        candidate = self._by_part.get(part)
        return None if candidate is None else self.run.loop.table.costed_of([candidate])[0].cost

    def is_open(self, part: Part) -> bool:
        """Return whether the cost of `part` is not known well enough for a plan to rest on it."""
        cost = self.cost(part)
        return part[0] != HOST_TARGET and (cost is None or not (cost.is_invalid or is_settled(cost)))

    def measure(self, parts: Iterable[Part]) -> None:
        """Get the costs of `parts` known, as far as the time allows; those that no rule found here are made first."""
        wanted = [part for part in parts if self.is_open(part)]
        if not wanted or self.run.is_stopped():
            return
        self._make(wanted)
        budget = self.run.budget
        left_s = budget.limit_s - budget.spent_s
        if left_s < MORE_S:
            budget.extend(MORE_S - max(left_s, 0.0))
        with budget.counting():
            self.run.loop.get_known([self._by_part[part] for part in wanted])
            self.run.plans.learn_all_transitions()
        self.run.close()

    def planned(self, parts: Parts, *, alone: bool = False) -> Planned | None:
        """Return the plan of these parts at this shape; None where one of them cannot be.

        Args:
            alone: Let its problem hold these parts and nothing else, which takes less time.
        """
        if any(cost is None or cost.is_invalid for cost in map(self.cost, parts)):
            return None
        candidates = [self._by_part[part] for part in parts]
        table = self.run.loop.table
        held = dict.fromkeys(candidates if alone else [*table.candidates, *table.merged, *candidates])
        costed = table.costed_of(held)
        problem = self.run.plans.problem(costed)
        chosen = _chosen(problem, parts)
        final = SearchResult("given", chosen, plan_total(problem, chosen), False, 0, 0, 0, 0.0)
        return Planned(final, final, problem, costed)

    def total_s(self, parts: Parts) -> float | None:
        """Return what the plan of `parts` takes here by its costs; None where one of them is not known, or it cannot be here."""
        self.measure(parts)
        planned = self.planned(parts, alone=True)
        if planned is None or any(self.is_open(part) for part in parts):
            return None
        return planned.final.total / FEMTOSECONDS

    def take(self, parts: Parts, others: Mapping[str, Parts]) -> Decision:
        """Return the decision for the plan of `parts`, the best over several shapes.

        Args:
            others: Name → a plan to measure beside it.
        """
        assert self.decision is not None
        needed = parts.union(*others.values())
        if self.found is None or not needed <= {(item.target, item.inside) for item in self.found.problem.candidates}:
            self.search_again()
        found, run = self.found, self.run
        assert found is not None
        chosen = found.final.chosen if parts == parts_of(found) else _chosen(found.problem, parts)
        baselines = find_baselines(run.found, found, run.plans.settings, is_cut_off=run.loop.is_cut_off)
        for name, other in others.items():
            beside = another_plan(found, _chosen(found.problem, other))
            baselines.append(BaselinePlan(name, beside.final.chosen, known_total_s(found.costed, beside.final)))
        decision = self.decision.over_shapes(found, baselines)
        return decision if chosen == found.final.chosen else decision.take(chosen, run.plans)

    def build(self, parts: Parts, pool: Pool) -> tuple[Plan, Verify]:
        """Build and verify the plan of `parts` at this shape, whatever is known of its costs; return it, and how it was verified.

        Args:
            pool: The workers that do it.

        Raises:
            CollageError: a part cannot be at this shape, or the plan cannot be built.
            AccuracyError: it computes something else than the model.
        """
        self._make(parts)
        run = self.run
        planned = self.planned(parts, alone=True)
        if planned is None:
            raise CollageError("a partition of the plan cannot be at this shape", "give --shape a set of sizes", "shape")
        plan, out = run.plan_of(planned, {}), run.options.out
        if out is not None:
            make_folder(out)
        with build_and_verify(run.found.model, plan, run.inputs, run.phases, run.emit, out, run.is_stopped, pool) as built:
            verify = built.verify
        check_accuracy(verify, plan.accuracy)
        if out is not None:
            plan.write(out / "plan.json")
        return plan, verify

    def rebuilt(self, decision: Decision, before: RunRecord) -> RunRecord:
        """Return the record of a decision once its plan, which has replaced another one, is built and verified.

        Args:
            before: The record with the plan that was there, whose comparison with other plans stays.
        """
        run = self.run
        record = run.record(decision)
        rows, own = rows_beside(parts_of(decision.planned), before.document)
        with build_and_verify(run.found.model, record.plan, run.inputs, run.phases, run.emit, run.options.out, run.is_stopped) as built:
            verify = replace(built.verify, estimated_error=record.document.verify.estimated_error)
        if own is not None and own.measured_s is not None:  # It was timed in turns with the others, and not just now, by itself.
            corrected_s = correction_s(decision.planned.partitions)
            error_s = additive_error_s(record.plan, own.measured_s, corrected_s)
            verify = replace(verify, measured_s=own.measured_s, interval_s=own.interval_s)
            verify = replace(verify, additive_error_s=error_s, explained_s=corrected_s or None)
        record = replace(
            record,
            document=replace(
                record.document,
                alternatives=rows,
                baselines=before.document.baselines,
                decided_by="whole",
                decided_for=ALL_SHAPES,
                verify=verify,
                phases=run.phases.info,
            ),
        )
        if run.options.out is not None:
            record.save(run.options.out)
        check_accuracy(verify, record.plan.accuracy)
        return record

    def _make(self, parts: Iterable[Part]) -> None:
        """Make the candidates of `parts` that no rule found here."""
        new = [part for part in parts if part not in self._by_part]
        made = [CandidatePartition(self.run.found.graph, target, inside, merged_rule(target)) for target, inside in new]
        self.run.loop.table.add_merged(made)
        self._add(made)

    def _add(self, candidates: Iterable[CandidatePartition]) -> None:
        for candidate in candidates:
            self._by_part.setdefault((candidate.target, candidate.inside), candidate)


def _chosen(problem: SearchProblem, parts: Parts) -> tuple[int, ...]:
    """Return the indices of the candidates of `problem` that are `parts`, in the order of their first nodes."""
    index_of = {(item.target, item.inside): index for index, item in enumerate(problem.candidates)}
    return tuple(sorted((index_of[part] for part in parts), key=lambda index: problem.candidates[index].inside.first()))


def parts_of(planned: Planned) -> Parts:
    """Return the parts of a plan."""
    return frozenset((item.target, item.inside) for item in planned.partitions)


def parts_of_plan(plan: Plan) -> Parts:
    """Return the parts of a plan as its file has it."""
    return frozenset((part.target, IndexSet(part.nodes)) for part in plan.partitions)


def rows_beside(parts: Parts, document: RunDocument) -> tuple[tuple[Alternative, ...], Alternative | None]:
    """Return the document's `alternatives` where the plan of `parts` takes the place of its plan, and the row of that plan.

    The plan that was there joins them; the row is None where the new one was not among them.
    """
    plan, verify, rows = document.plan, document.verify, document.alternatives
    if not any(row.is_plan for row in rows):
        kind: Kind = SEARCHED if document.decided_by == "sum" else RIVAL
        before = Alternative(
            name=kind,
            kind=kind,
            total_s=plan.total_s,
            measured_s=verify.measured_s,
            interval_s=verify.interval_s,
            rounds=0,
            reason="",
            is_plan=False,
            partitions=tuple(PlanPart(id=part.id, target=part.target, nodes=part.nodes) for part in plan.partitions),
        )
        rows = (*rows, before)
    rows = tuple(replace(row, is_plan=_parts_in(row) == parts) for row in rows)
    return rows, next((row for row in rows if row.is_plan and row.measured_s is not None), None)


def _parts_in(row: Alternative) -> Parts:
    return frozenset((part.target, IndexSet(part.nodes)) for part in row.partitions)
