"""The phases, in order, emitting events: what the command line, the server and a notebook all call.

A model and `Options` enter; a `RunRecord` leaves, and with ``out`` a folder with plan, run and artifact (RFC 62, Collage, phases 1
to 4). Toolchains never run in this process. Modules that build are imported only when something is built.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.garbage import no_collector
from ..cost.cost import Cost
from ..cost.database.records import now
from ..cost.estimator import CostEstimator, Known, LazyEstimator
from ..cost.estimators.function import CostFunction
from ..errors import Cancelled, InfeasibleError
from ..events import BaselineMeasured, Emit, Note, PlanDecided, StepStarted, ignore
from ..model.onnx_model import OnnxModel
from ..options import Options
from ..rewrite.plan import Plan, PlannedModel, PlannedTarget
from ..rewrite.runtime.arrays_file import read_arrays
from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from ..search.objectives import parse_objective
from ..search.problem import FEMTOSECONDS
from ..search.searcher import SearchResult
from ..toolchains.described import DescribedToolchain
from .apply import check_accuracy, make_folder
from .budget import Budget, budget_s
from .certainty import break_ties_by_priority, noise_s, stability, total_interval_s
from .choose_finalists import another_plan, finalists
from .cost_progress import CostProgress
from .cost_table import CostTable
from .described import described_options
from .discover import CandidateSet, Phases, model_document
from .error_budget import BudgetCorrection, ErrorBudget, estimated_error
from .finalists import BARRED, Finalist, alternatives, barred, decision_text, measured_plans
from .measure import Costs, MeasuringLoop
from .measuring_policy import MeasureEverything, MeasuringPolicy
from .plan_documents import (
    budget_document,
    not_verified,
    placed_partitions,
    placed_transitions,
    plan_document,
    priority_note,
    search_document,
    within_noise,
)
from .record import RunRecord
from .run_estimator import estimator_of
from .search_and_merge import (
    Planned,
    PlanSearch,
    SearchSettings,
    alone,
    greedy_plan,
    known_total_s,
    regret_seconds,
)
from .why_not_alone import why_not_alone

if TYPE_CHECKING:
    from .assemble_and_verify import Built

MOST_EXCLUSIONS = 8
"""Partitions that are excluded, one after another, where the whole plan errs too much."""


def partition(source: str | Path, options: Options, emit: Emit = ignore, function: CostFunction | None = None) -> RunRecord:
    """Run the whole pipeline.

    Measured costs go on to build, verify and time the plan and every target alone; with other costs that is done only
    with ``options.out``. A plan in which a described toolchain has a part is not built.

    Args:
        function: Gives the costs, in this process; ``options.costs`` is then only its name.

    Raises:
        CollageError: a mistake of the user.
        InfeasibleError: no plan exists.
        AccuracyError: the assembled plan is over the accuracy; the plan and the run are written all the same.
    """
    run = Run(source, options, emit, function)
    try:
        run.cost()
        run.search()
    finally:
        run.close()
    record = run.record()
    if options.out is not None:
        make_folder(options.out)
        record.save(options.out)
    if options.builds:
        record = _built(run, record)
        if options.out is not None:
            record.save(options.out)
        check_accuracy(record.document["verify"], record.plan.accuracy)
    return record


def _built(run: Run, record: RunRecord) -> RunRecord:
    """Build the plan; where its error says so, another one, and at last each baseline in turn.

    Another one is searched for with a corrected error budget, or without the partition that errs most.
    """
    correction, excluded = BudgetCorrection(), 0
    while True:
        is_right, error = run.build(record), record.document["verify"]["max_rel_error"]
        if error is None or not run.correct_budget(correction, error):
            if is_right or excluded == MOST_EXCLUSIONS or not run.exclude_worst(error):
                break
            excluded += 1
        record = run.record()
    searched = record
    while not is_right and run.fall_back(record.document["verify"]["max_rel_error"]):
        record = run.record()
        is_right = run.build(record)
    return record if is_right else searched


class Run:
    """One run of the pipeline: what the phases hand to each other. `partition` is the way in; the bench takes single steps.

    Args:
        estimator: Gives the costs; the one that the options name unless given. It is closed with the run.

    Attributes:
        budget: The time for measuring.
        undecided: What measuring left undecided between the plan and others.
        lowest_core_latency_s: As `LazyEstimator.lowest_core_latency_s` when the plan was decided.
    """

    def __init__(
        self,
        source: str | Path,
        options: Options,
        emit: Emit,
        function: CostFunction | None = None,
        estimator: CostEstimator | None = None,
    ):
        self.options = options
        self.emit = emit
        self.phases = Phases(emit)
        self.found = CandidateSet(source, options, self.phases, emit)
        self.budget = Budget(budget_s(options, len(self.found.graph)))
        self.inputs = _inputs(self.found.model, options)
        if options.inputs is None and options.builds and self.found.model.inputs_note:
            emit(Note(f"{self.found.model.inputs_note} (--inputs FILE.npz brings your own)"))
        here = [name for name, found in self.found.toolchains.items() if options.is_measured and not isinstance(found, DescribedToolchain)]
        self.progress = CostProgress(options.targets, here, emit, lambda: self.loop.policy.likely(self.loop.table))
        make = partial(estimator_of, self.found, self.inputs, options, self.progress.pass_on, self.budget.is_over, function)
        self.estimator = estimator or make()
        settings = SearchSettings(options.search, parse_objective(options.objective), limit_s=options.time_limit_s)
        errors = ErrorBudget.of(self.found.accuracy(), self.found.toolchains)
        self.plans = PlanSearch(self.found.graph, self.found.toolchains, self._transition_pairs, options.constraints, settings, errors)
        self.loop = self._loop()
        self.lowest_core_latency_s = math.inf

    def close(self) -> None:
        """Let go of the workers."""
        self.estimator.close()

    def cost(self) -> None:
        """Phase ``costs``: the cost of every candidate; if costs are measured, of those that can matter."""
        with self.phases("costs"), self.budget.counting():
            if isinstance(self.estimator, LazyEstimator) and self.loop.policy.quantiles:
                placed = [candidate for candidate in self.found.costed_first if candidate.target != HOST_TARGET]
                self.loop.table.recall(dict(self.progress.follow(self.estimator.recall(placed), placed)))
            self.loop.costs()

    def search(self) -> None:
        """Phases ``search`` and ``merge``, with whatever is measured meanwhile."""
        with self.phases("search"), self.budget.counting():
            planned = self.loop.search()
        with self.phases("merge"):
            with self.budget.counting():
                planned = self.loop.repeat(self.loop.merge(planned))
                if not self.budget.is_over():
                    planned = self.plans.with_all_transitions(planned)
            self._decide(planned)
            self.undecided = self.loop.undecided(self.planned)
        said = priority_note(self.planned)
        if said:
            self.emit(Note(said))

    def _loop(self) -> MeasuringLoop:
        lazy = self.estimator if isinstance(self.estimator, LazyEstimator) else None
        policy = MeasuringPolicy() if lazy and not self.options.measure_all else MeasureEverything()
        table = CostTable(self.found.graph, self.found.costed_first, lazy.computation_key if lazy else None)
        if lazy is None or not self.options.is_measured:
            return MeasuringLoop(table, policy, self._measure, self.plans.best, self.emit, budget=self.budget)
        return MeasuringLoop(table, policy, self._measure, self.plans.best, self.emit, self._repeat, self._calls, self.budget)

    def _measure(self, candidates: Sequence[CandidatePartition], best_s: float | None) -> Costs:
        """Costs of `candidates`, of as many as the time allows."""
        placed = [candidate for candidate in candidates if candidate.target != HOST_TARGET]
        estimator = self.estimator
        if isinstance(estimator, LazyEstimator) and not self.options.measure_all:
            yield from self._followed(estimator.measure(placed, best_s), placed)
            return
        with nullcontext() if self.options.is_measured else no_collector():
            yield from self._followed(estimator.estimate(self.found.graph, placed), placed)

    def _repeat(self, candidates: Sequence[CandidatePartition], best_s: float | None) -> Costs:
        assert isinstance(self.estimator, LazyEstimator)
        return self._followed(self.estimator.repeat(candidates, best_s), candidates)

    def _calls(self, targets: Sequence[str]) -> Costs:
        assert isinstance(self.estimator, LazyEstimator)
        return self._followed(self.estimator.calls(targets), ())

    def _followed(self, known: Iterable[Known], asked: Sequence[CandidatePartition]) -> Costs:
        with suppress(Cancelled):
            yield from self.progress.follow(known, asked)

    def _transition_pairs(self, wanted: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Any]:
        """Return the costs of transitions in seconds: all that are known, and those that are `wanted` if the budget allows it."""
        estimator, targets = self.estimator, self.options.targets
        if not isinstance(estimator, LazyEstimator):
            return estimator.transitions(targets).pairs
        try:
            estimator.transitions_between(() if self.budget.is_over() else wanted)
        except Cancelled:
            self.emit(Note("the budget was over before all transitions were measured: those that are not known count as free"))
        return estimator.known_transitions(targets).pairs

    def _decide(self, best: Planned) -> None:
        """Step ``decide``: the plan, where measurements can tell the best one, and how sure it is."""
        self.emit(StepStarted("decide"))
        self.best = self.planned = best
        if isinstance(self.estimator, LazyEstimator):
            self.lowest_core_latency_s = self.estimator.lowest_core_latency_s()
        self.baselines = self._baselines()
        constraints, settings = self.plans.constraints(best.problem), self.plans.settings
        totals = [row["total_s"] for row in self.baselines if row["total_s"] is not None]
        self.planned = break_ties_by_priority(best, constraints, settings, min(totals, default=None))
        self.searched, self._refused = self.planned, dict[tuple[int, ...], str]()
        self.decided = self._decided_otherwise(best, "priority")
        if self.decided:
            above_s = (self.planned.final.total - best.final.total) / FEMTOSECONDS
            self.emit(Note(within_noise(len(self.decided), above_s, noise_s(best))))
        self.stability = stability(self.planned, constraints, settings)
        self.regret_s = regret_seconds(self.planned, constraints)

    def _decided_otherwise(self, before: Planned, decided_by: str) -> dict[str, str]:
        """Id → `decided_by` of each partition that the plan has and `before` has not."""
        chosen = (index for index in self.planned.final.chosen if index not in before.final.chosen)
        return {before.problem.candidates[index].id: decided_by for index in chosen}

    def why_not_built(self, plan: Plan) -> str:
        """Why `plan` cannot be built here; empty where it can."""
        for target in dict.fromkeys(partition.target for partition in plan.partitions if partition.target != HOST_TARGET):
            available = self.found.toolchains[target].availability()
            if not available.usable:
                return f"not built, since the target {target!r} is not usable here: {available.reason}"
        return ""

    def record(self) -> RunRecord:
        """Return the record of the run before anything is built."""
        self.plan = self._plan_of(self.planned, self.stability, self.decided)
        return RunRecord(
            document=self._document(),
            graph=self.found.graph,
            candidates=self.planned.costed,
            rejected=[rejection.to_json() for rejection in self.found.log.sample],
            problem=self.planned.problem,
            plan=self.plan,
            regret_s=self.regret_s,
            created=now(),
            machine=self.estimator.machine,
            rules=self.found.rule_reports(),
        )

    def _plan_of(self, planned: Planned, stability: Mapping[str, float] | None = None, decided: Mapping[str, str] | None = None) -> Plan:
        model, options = self.found.model, self.options
        return Plan(
            model=PlannedModel(name=model.name, hash=model.hash),
            targets=tuple(PlannedTarget(name=name, version=t.availability().version) for name, t in self.found.toolchains.items()),
            options=described_options(options.to_json(), self.found.descriptions),
            constraints=tuple(dict(item) for item in options.constraints),
            machine=self.estimator.machine,
            accuracy=self.found.accuracy(),
            total_s=planned.final.total / FEMTOSECONDS,
            total_interval_s=total_interval_s(planned),
            partitions=placed_partitions(self.found.graph, planned, stability, decided),
            transitions=placed_transitions(planned),
        )

    def _document(self) -> dict[str, Any]:
        targets = []
        spared = self.loop.table.spared(self.options.targets)
        for name in self.options.targets:
            targets.append(
                {
                    "name": name,
                    "candidates": len(self.found.by_target[name]),
                    "unique": self.found.unique[name],
                    "deferred": sum(candidate.deferred for candidate in self.found.by_target[name]),
                    **self.progress.counts[name],
                    "spared": spared[name],
                }
            )
        return {
            "schema": 1,
            "model": model_document(self.found.model),
            "phases": self.phases.to_json(),
            "targets": targets,
            "search": search_document(self.planned),
            "plan": plan_document(self.plan),
            "budget": budget_document(self.budget, self.undecided) if self.options.is_measured else None,
            "decided_by": "sum" if self.planned is self.searched else "whole",
            "alternatives": [],
            "baselines": self.baselines,
            "verify": not_verified(self.plan.accuracy, self.estimated_error if self.plans.budget.lowered else None),
        }

    def _baselines(self) -> list[dict[str, Any]]:
        """Every target alone, and greedy, over the same costs; times are filled in when they are measured."""
        self.baseline_plans: dict[str, tuple[int, ...]] = {}
        made = []
        problem = self.planned.problem
        for name in self.options.targets:
            result = alone(problem, name, self.plans.settings)
            why_not = "" if result else why_not_alone(self.found.graph, name, self.planned.costed, self.found.log.sample)
            made.append(self._baseline(name, result, why_not))
        return [*made, self._baseline("greedy", greedy_plan(problem), "the largest sub-graphs leave nodes that nothing covers")]

    def _baseline(self, name: str, result: SearchResult | None, why_not: str) -> dict[str, Any]:
        if result is None:
            return {"name": name, "total_s": None, "measured_s": None, "reason": why_not}
        total_s = known_total_s(self.planned.problem, result)
        if total_s is not None or not self.loop.is_cut_off:
            self.baseline_plans[name] = result.chosen
        reason = "some of its costs are not known" if total_s is None else ""
        return {"name": name, "total_s": total_s, "measured_s": None, "reason": reason}

    @property
    def estimated_error(self) -> float:
        """What the errors of the plan's partitions add up to, as far as they count (`ErrorBudget`)."""
        return estimated_error(self.planned.problem, self.planned.final.chosen)

    def correct_budget(self, correction: BudgetCorrection, error: float) -> bool:
        """Search again where the whole plan's `error` is not what its partitions' errors add up to; return whether that changed it."""
        estimate, old = self.estimated_error, self.plans.budget
        budget = correction.corrected(old, estimate, error)
        if budget is None:
            return False
        before = self.best if budget.factor < old.factor else self.planned
        self.plans.budget = budget
        planned = self.loop.again(before)
        if [item.id for item in planned.partitions] == [item.id for item in before.partitions]:
            return False
        said = f"the whole plan erred by {error:.3g}, its partitions by {estimate:.3g} in all, {self.plan.accuracy:g} is allowed"
        self.emit(Note(f"{said}: the search goes on with errors counted {budget.factor:.2g} times"))
        self._decide(planned)
        return True

    def exclude_worst(self, error: float) -> bool:
        """Search again without the worst partition: the one that errs most.

        Return False where none errs, or there is no plan without it.
        """
        costed = self.planned.costed
        index = max(self.planned.indices, key=lambda index: costed[index].cost.error or 0.0)
        worst = costed[index]
        if not worst.cost.error:
            return False
        own = f"of its partitions this one erred most: {worst.cost.error:.3g}"
        reason = f"the whole plan erred by {error:.3g}, {self.plan.accuracy:g} is allowed; {own}"
        try:
            with self.budget.counting():
                planned = self.loop.without(self.planned, index, replace(Cost.invalid("numerics", reason), error=worst.cost.error))
        except InfeasibleError:
            return False
        where = f"{worst.target}, {len(worst.inside)} nodes from {self.found.graph.nodes[worst.inside.base].name!r}"
        self.emit(Note(f"{reason} ({where}): the search goes on without it"))
        self._decide(planned)
        self.undecided = self.loop.undecided(self.planned)
        return True

    def fall_back(self, error: float) -> bool:
        """Take the next baseline for the plan, which errs by `error`, where no other plan could be searched for.

        Return False where none is left that may take its place.
        """
        self._refused[self.planned.final.chosen] = reason = f"it errs by {error:.3g}, {self.plan.accuracy:g} is allowed"
        if not self.options.is_measured:
            return False
        others = self._finalists(self.buildable_baselines({"baselines": self.baselines}))
        left = [one for one in others if one.may_ship and not one.reason]
        if left:
            self.emit(Note(f"the plan is out, {reason}: {next(iter(left[0].names))} is tried in its place"))
            self._take(left[0].chosen)
        return bool(left)

    def _take(self, chosen: tuple[int, ...]) -> None:
        """Make another plan of the same problem the plan, since the search's plan is slower, or wrong, as a whole."""
        self.planned = another_plan(self.searched, chosen)
        self.decided = self._decided_otherwise(self.searched, "whole")
        self.undecided = []  # Measured whole, plans are compared as they are: what their parts left open is of no interest.
        constraints = self.plans.constraints(self.planned.problem)
        self.stability = stability(self.planned, constraints, self.plans.settings)
        self.regret_s = regret_seconds(self.planned, constraints)

    def _finalists(self, baselines: Iterable[str]) -> list[Finalist]:
        chosen = {name: self.baseline_plans[name] for name in baselines}
        constraints = self.plans.constraints(self.planned.problem)
        return finalists(self.searched, self.planned, chosen, self._plan_of, constraints, self.plans.settings, self._refused)

    def build(self, record: RunRecord) -> bool:
        """Phase 4: assemble, verify, and measure whole beside the other finalists; fills in the record, with the fastest as its plan.

        Return whether the plan is within its accuracy; if not, nothing is timed beside it. A plan that cannot be built counts as
        within it, and the document says why nothing was built.
        """
        from .assemble_and_verify import build_and_verify

        document = record.document
        baselines = self.buildable_baselines(document)
        document["verify"]["reason"] = self.why_not_built(self.plan)
        if document["verify"]["reason"]:
            self.emit(Note(f"the plan is {document['verify']['reason']}"))
            return True
        with build_and_verify(self.found.model, self.plan, self.inputs, self.phases, self.emit, self.options.out) as built:
            document["verify"].update(built.verify)
            is_right = built.is_right
            if self.options.is_measured and is_right:
                with self.phases("baselines"):
                    self._measure_whole(built, baselines, record)
        document["phases"] = self.phases.to_json()
        return is_right

    def _measure_whole(self, built: Built, baselines: Iterable[str], record: RunRecord) -> None:
        """Time the plan beside the other finalists, take the fastest for the plan, and fill in the record."""
        from .compare_whole import compare_whole

        others = self._finalists(baselines)
        outcome = compare_whole(built, others, self.emit, self.lowest_core_latency_s)
        rows = alternatives(others, outcome.times, outcome.winner)
        if outcome.winner:
            self._take(others[outcome.winner].chosen)
        changed = self.record()
        built.plan = self.plan
        record.plan, record.regret_s = changed.plan, changed.regret_s
        record.document.update({key: changed.document[key] for key in ("plan", "search", "budget", "decided_by")})
        record.document.update(alternatives=rows, verify={**record.document["verify"], **built.verify})
        measured = {row["name"]: row for row in rows}
        for row in record.document["baselines"]:
            row.update({key: measured[row["name"]][key] for key in ("measured_s", "reason") if row["name"] in measured})
            self.emit(BaselineMeasured(row["name"], row["total_s"], row["measured_s"], row["reason"]))
        name = next(iter(others[outcome.winner].names))
        self.emit(PlanDecided(record.document["decided_by"], name, built.verify["measured_s"], measured_plans(rows)))
        if outcome.winner:
            self.emit(Note(decision_text(record.document)))
        for one in barred(others, outcome.times, outcome.winner):
            self.emit(Note(f"{one} is faster, measured whole, but {BARRED}"))

    def buildable_baselines(self, document: dict[str, Any]) -> dict[str, Plan]:
        """Their plans; the rows of the others in `document` get the reason."""
        plans = {name: self._plan_of(another_plan(self.searched, chosen)) for name, chosen in self.baseline_plans.items()}
        why_not = {name: self.why_not_built(plan) for name, plan in plans.items()}
        for row in document["baselines"]:
            row["reason"] = row["reason"] or why_not.get(row["name"], "")
        return {name: plan for name, plan in plans.items() if not why_not[name]}


def _inputs(model: OnnxModel, options: Options) -> dict[str, np.ndarray]:
    """The user's inputs, or seeded ones."""
    return model.seeded_inputs() if options.inputs is None else model.check_inputs(read_arrays(options.inputs))
