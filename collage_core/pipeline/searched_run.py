"""Phases 1 to 3 of a run: from the model to the plan of the least sum, with its record.

A model and `Options` enter; `SearchedRun.record` gives what is known when nothing was built yet. Toolchains never run in this process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..base.cores import usable_cores
from ..base.garbage import no_collector
from ..base.home import why_nothing_is_kept
from ..base.isolation.worker import Pool
from ..cost.database.records import now
from ..cost.estimator import CostEstimator, Known, LazyEstimator, ProfilingEstimator, TuningEstimator
from ..cost.estimators.function import CostFunction
from ..cost.estimators.roofline import machine_rates
from ..cost.measuring.other_load import OtherLoad, busy_text
from ..cost.measuring.trial import TrialLimits, trial_workers
from ..cost.profile import ProfiledPart
from ..errors import Cancelled
from ..events import Emit, Event, Note, PlanImproved, StepStarted
from ..graph.work_estimate import WorkEstimator
from ..model.bodies.body_runs import BodyRuns
from ..options import Options
from ..rewrite.plan import Plan, PlannedModel, PlannedTarget
from ..rules.baseline_names import GREEDY, with_rest
from ..rules.candidate import CandidatePartition
from ..rules.partitionings import Partitioning
from ..rules.spec import HOST_TARGET
from ..search.objectives import parse_objective
from ..search.problem import FEMTOSECONDS
from ..search.searcher import SearchResult, never
from ..toolchains.built_packages import BuiltPackages
from ..version import __version__
from .bodies.body_search import KEPT_AWAY, BodySearch, bodies_s
from .bodies.plan_bodies import PlannedNode
from .cancelled import cancelled_document
from .described_targets import described_options
from .discover import CandidateSet, Phases, model_document
from .loop.budget import Budget, budget_s
from .loop.certainty import break_ties_by_priority, noise_s, stability, total_interval_s
from .loop.cost_progress import CostProgress
from .loop.cost_table import CostTable
from .loop.deadline import RESERVED_S, run_deadline
from .loop.error_budget import ErrorBudget, estimated_error
from .loop.measure import Costs, MeasuringLoop
from .loop.measuring_policy import MeasureEverything, MeasuringPolicy
from .loop.search_and_merge import (
    Planned,
    PlanSearch,
    SearchSettings,
    guessed_total_s,
    known_total_s,
    refused_by_constraints,
    regret_seconds,
)
from .loop.tuning import TuningStep, check_tunes
from .plan_documents import (
    bodies_document,
    budget_document,
    not_verified,
    placed_partitions,
    placed_transitions,
    plan_document,
    planned_texts,
    priority_note,
    search_document,
    within_noise,
)
from .record.record import RunRecord
from .run_estimator import estimator_of
from .whole.baselines import baseline
from .whole.choose_finalists import best_known
from .whole.why_not_alone import why_not_alone, why_not_partitioned


class SearchedRun:
    """State that phases 1 to 3 of one run hand to each other.

    Args:
        estimator: Gives the costs; the one that the options name unless given. It is closed with the run.
        should_stop: As `partition` takes it.
        body: The body of another model that is searched in place of the model `source`.
        workers: Of the run that searches the body: toolchains start once for a model and its bodies.

    Attributes:
        baseline_plans: Name of a baseline → its plan, once one was decided.
        bodies: Index of each node whose bodies were planned → their plans, and its cost on the host.
        budget: The time for measuring.
        deadline: When the run should be over.
        first_plan_s: Seconds from the start until a complete plan of known costs was told; None while there is none.
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
        should_stop: Callable[[], bool] = never,
        body: BodyRuns | None = None,
        workers: Pool | None = None,
    ):
        self.options = options
        self._emit = emit
        self._should_stop, self._stopped_in = should_stop, ""
        self._load = OtherLoad()
        self.phases = Phases(emit)
        if body is None and (reason := why_nothing_is_kept()):
            emit(Note(f"{reason}: nothing of this run is kept there, and no later run knows what it measures"))
        self.first_plan_s: float | None = None
        self._function, self._body = function, body
        self.bodies: dict[int, PlannedNode] = {}
        self.baseline_plans: dict[str, tuple[int, ...]] = {}
        self.found = CandidateSet(source, options, self.phases, emit, body, counts_runs=True)
        self.options = options = self.found.options
        self.found.check_constraints()  # before any is measured
        check_tunes(self.found.toolchains, options.tune_s)
        self.deadline = run_deadline(options, self.phases.elapsed_s)
        self.budget = Budget(
            budget_s(options, len(self.found.graph)),
            grows=options.budget_s is None,
            should_stop=self.is_stopped,
            most_s=self.deadline.left_s - RESERVED_S,
        )
        self.inputs = self.found.model.seeded_inputs() if self.found.given is None else self.found.given
        if self.found.given is None and options.builds and self.found.model.inputs_note:
            emit(Note(f"{self.found.model.inputs_note} (--inputs FILE.npz brings your own)"))
        if options.builds or options.is_measured:
            for said in self.found.model.input_sets(self.inputs, options.value_policy).notes:
                emit(Note(said))
        here = [name for name, found in self.found.toolchains.items() if options.is_measured and not found.has_costs]
        self.progress = CostProgress(options.targets, here, emit, lambda: self.loop.policy.likely(self.loop.table), self.budget)
        self._own_workers = trial_workers(TrialLimits.from_environment()) if options.is_measured and workers is None else None
        self._workers = workers or self._own_workers
        make = partial(estimator_of, self.found, self.inputs, options, self.progress.pass_on, self.budget.is_over, function)
        self.estimator = estimator or make(self._workers)
        settings = SearchSettings(options.search, parse_objective(options.objective), self._must_search_end, options.time_limit_s)
        errors = ErrorBudget.of(self.found.accuracy(), self.found.toolchains)
        self.plans = PlanSearch(self.found.graph, self.found.toolchains, self.transition_pairs, options.constraints, settings, errors)
        self.loop = self._loop()
        self.lowest_core_latency_s = math.inf

    @property
    def packages(self) -> BuiltPackages | None:
        """The packages that were built while costs were measured; None where nobody measured them here."""
        return BuiltPackages(self._workers.folder) if self._workers is not None and self.options.fleet is None else None

    def emit(self, event: Event) -> None:
        """Tell an event, and note when the first plan was known."""
        if isinstance(event, PlanImproved) and self.first_plan_s is None:
            self.first_plan_s = self.phases.elapsed_s
        self._emit(event)

    def is_stopped(self) -> bool:
        """Return whether the user has stopped the run; the phase in which that is seen first is noted."""
        if not self._stopped_in and self._should_stop():
            self._stopped_in = self.phases.current
        return bool(self._stopped_in)

    def _must_search_end(self) -> bool:
        return self.is_stopped() or self.deadline.left_s < RESERVED_S

    def cancelled_document(self, document: Mapping[str, Any]) -> dict[str, Any] | None:
        """The ``cancelled`` part of the run's `document`."""
        placed = [candidate for candidate in self.loop.table.candidates if candidate.target != HOST_TARGET]
        late = sum(not self.loop.table.is_known(candidate) for candidate in placed) if self.loop.is_cut_off else 0
        return cancelled_document(self._stopped_in, late, len(placed), document, self.options.builds)

    def close(self) -> None:
        """Let go of the workers; what they built stays until `remove_packages`."""
        self.estimator.close()
        if self._own_workers is not None:
            self._own_workers.close()

    def remove_packages(self) -> None:
        """Remove what was built while costs were measured; nothing is measured any more."""
        if self._own_workers is not None:
            self._own_workers.close()
            self._own_workers.remove_folder()

    def cost(self) -> None:
        """Phase ``costs``: the cost of every candidate; if costs are measured, of those that can matter."""
        self._tell_busy()
        with self.phases("costs"):
            self._plan_bodies()
            with self.budget.counting():
                if isinstance(self.estimator, LazyEstimator) and self.loop.policy.quantiles:
                    placed = [candidate for candidate in self.found.costed_first if candidate.target != HOST_TARGET]
                    self.loop.table.recall(dict(self.progress.follow(self.estimator.recall(placed), placed, recalls=True)))
                self.loop.costs()
                self.loop.check_plan()

    def _plan_bodies(self) -> None:
        """Search the bodies of the model's nodes, and take what each of these nodes costs on the host.

        Where the user says how long measuring may take, that is a part of it; else it comes on top, as far as the run has time.
        """
        if not self.found.body_runs:
            return
        found, constraints = self.found, self.options.constraints
        for candidate in refused_by_constraints(found.graph, found.candidates, found.toolchains, constraints):
            if candidate.target == HOST_TARGET and candidate.inside.first() in found.body_runs:
                found.body_runs[candidate.inside.first()].reason = KEPT_AWAY
        limit_s = bodies_s(self.found.body_runs, self.options, self.budget.limit_s, self.deadline.left_s - RESERVED_S)
        search = BodySearch(self.found, self.options, limit_s, self.inputs, self.emit, self._search_body, self.is_stopped)
        with self.budget.counting() if self.options.budget_s is not None else nullcontext():
            self.bodies = search.plan(self._body.runs if self._body else 1)
        self.budget.bound(self.deadline.left_s - RESERVED_S)
        for candidate in self.found.by_target[HOST_TARGET]:
            planned = self.bodies.get(candidate.inside.first())
            if planned is not None:
                self.loop.table.set_own(candidate, planned.cost)
        for said in planned_texts(self.found.graph, self.bodies):
            self.emit(Note(said))

    def _search_body(self, name: str, body: BodyRuns, options: Options, emit: Emit) -> RunRecord:
        run = SearchedRun(name, options, emit, self._function, should_stop=self.is_stopped, body=body, workers=self._workers)
        try:
            run.cost()
            run.search()
        finally:
            run.close()
        return run.record()

    def search(self) -> None:
        """Phases ``search`` and ``merge``, with whatever is measured meanwhile."""
        with self.phases("search"), self.budget.counting():
            planned = self.loop.search()
        with self.phases("merge"), self.budget.counting():
            planned = self.loop.tune(self.loop.repeat(self.loop.merge(planned)))
            if not self.budget.is_over():
                planned = self.plans.with_all_transitions(planned)
            self._decide(planned)
            self.undecided = self.loop.undecided(self.planned)
        said = priority_note(self.planned)
        if said:
            self.emit(Note(said))

    def _tell_busy(self) -> None:
        """Say that the machine is busy, as it was while candidates were found, where costs are measured on it."""
        if self.options.is_measured and self.options.fleet is None:
            busy = busy_text(self._load.cores(), usable_cores(), self.options.used_threads)
            if busy:
                self.emit(Note(f"{busy}: what is measured now may be too high, and unsteady"))

    def _loop(self) -> MeasuringLoop:
        lazy = self.estimator if isinstance(self.estimator, LazyEstimator) else None
        policy = MeasuringPolicy() if lazy and not self.options.measure_all else MeasureEverything()
        table = CostTable(
            self.found.graph, self.found.costed_first, lazy.computation_key if lazy else None, self._layouts(), self.found.grouped
        )
        if lazy is None or not self.options.is_measured:
            return MeasuringLoop(table, policy, self._measure, self.plans.best, self.emit, budget=self.budget, singles=self._singles())
        asks = self._measure, self.plans.best, self.emit, self._repeat, self._calls
        profiler = self.estimator if isinstance(self.estimator, ProfilingEstimator) and policy.quantiles else None
        targets = [name for name in self.options.targets if profiler is not None and profiler.has_profiler(name)]
        return MeasuringLoop(
            table, policy, *asks, self.budget, self._tuning(), self._singles(), self._profile if targets else None, targets
        )

    def _singles(self) -> list[str]:
        """Targets whose candidates are single calls of a library: two of them in a row are no call."""
        return [name for name, toolchain in self.found.toolchains.items() if toolchain.style == "library"]

    def _tuning(self) -> TuningStep | None:
        """The step ``tune``; None where it was not asked for."""
        estimator, seconds = self.estimator, self.options.tune_s
        if seconds is None or not isinstance(estimator, TuningEstimator):
            return None
        targets = [name for name, toolchain in self.found.toolchains.items() if toolchain.tunes]
        work = WorkEstimator(self.found.graph)

        def floor_s(candidate: CandidatePartition) -> float:
            return machine_rates(self.options.used_threads).seconds(work(candidate.inside))

        return TuningStep(estimator.tune, targets, seconds, floor_s, self.budget, self.emit)

    def _layouts(self) -> dict[str, str]:
        """Target of another boundary layout → the plain target of the same toolchain, if that is there."""
        pairs = ((name, name.partition("@")[0]) for name, toolchain in self.found.toolchains.items() if toolchain.layout)
        return {name: plain for name, plain in pairs if plain in self.found.toolchains}

    def _measure(self, candidates: Sequence[CandidatePartition], best_s: float | None) -> Costs:
        """Costs of `candidates`, of as many as the time allows."""
        placed = [candidate for candidate in candidates if candidate.target != HOST_TARGET]
        estimator = self.estimator
        if isinstance(estimator, LazyEstimator) and not self.options.measure_all:
            yield from self._followed(estimator.measure(placed, best_s), placed)
            return
        with nullcontext() if self.options.is_measured else no_collector(keeps=True):
            yield from self._followed(estimator.estimate(self.found.graph, placed), placed)

    def _profile(self, candidate: CandidatePartition) -> ProfiledPart | None:
        assert isinstance(self.estimator, ProfilingEstimator)
        try:
            return self.estimator.profile(candidate)
        except Cancelled:
            return None

    def _repeat(self, candidates: Sequence[CandidatePartition], best_s: float | None) -> Costs:
        assert isinstance(self.estimator, LazyEstimator)
        return self._followed(self.estimator.repeat(candidates, best_s), candidates)

    def _calls(self, targets: Sequence[str]) -> Costs:
        assert isinstance(self.estimator, LazyEstimator)
        return self._followed(self.estimator.calls(targets), ())

    def _followed(self, known: Iterable[Known], asked: Sequence[CandidatePartition]) -> Costs:
        with suppress(Cancelled):
            yield from self.progress.follow(known, asked)

    def transition_pairs(self, wanted: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Any]:
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
        if not best.final.optimal and settings.objective.is_time:
            self.best = self.planned = best = best_known(best, self.baseline_plans.values(), constraints)
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
        for target in plan.used_targets:
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
            bodies={self.found.graph.nodes[index].name: dict(node.records) for index, node in self.bodies.items() if node.records},
        )

    def _plan_of(self, planned: Planned, stability: Mapping[str, float] | None = None, decided: Mapping[str, str] | None = None) -> Plan:
        model, options = self.found.model, self.options
        return Plan(
            model=PlannedModel(name=model.name, hash=model.hash, fixed=model.fixed, assumed=model.assumed),
            targets=tuple(PlannedTarget(name=name, version=t.availability().version) for name, t in self.found.toolchains.items()),
            options=described_options(options.to_json(), self.found.descriptions),
            constraints=tuple(dict(item) for item in options.constraints),
            machine=self.estimator.machine,
            version=__version__,
            accuracy=self.found.accuracy(),
            total_s=planned.final.total / FEMTOSECONDS,
            total_interval_s=total_interval_s(planned),
            partitions=placed_partitions(self.found.graph, planned, stability, decided),
            transitions=placed_transitions(planned),
            tuning=self._tunings(planned),
            bodies={self.found.graph.nodes[index].name: node.bodies for index, node in self.bodies.items() if node.records},
        )

    def _tunings(self, planned: Planned) -> dict[str, str]:
        """Digest → schedules, of all candidates that were tuned: another plan of the same costs may hold any of them."""
        estimator = self.estimator
        if not isinstance(estimator, TuningEstimator):
            return {}
        used = {item.cost.tuned.digest for item in planned.costed if item.cost.tuned is not None}
        return {name: tuning.decode() for name, tuning in estimator.tunings.items() if name in used}

    def _document(self) -> dict[str, Any]:
        targets, options = [], self.options
        spared = self.loop.table.spared(options.targets)
        for name in options.targets:
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
        document = {
            "schema": 1,
            "model": model_document(self.found.model),
            "phases": self.phases.to_json(),
            "targets": targets,
            "search": search_document(self.planned),
            "plan": plan_document(self.plan),
            "budget": budget_document(self.budget, self.loop.tuned_s, self.first_plan_s, self.undecided) if options.is_measured else None,
            "decided_by": "sum" if self.planned is self.searched else "whole",
            "alternatives": [],
            "bodies": bodies_document(self.found.graph, self.bodies, self.plan),
            "baselines": self.baselines,
            "verify": not_verified(self.plan.accuracy, self.plan.value_policy, self.estimated_error if self.plans.budget.lowered else None),
        }
        return {**document, "cancelled": self.cancelled_document(document)}

    def _baselines(self) -> list[dict[str, Any]]:
        """Every target alone, those that cannot be with the rest elsewhere, each partitioning, and greedy, over the same costs.

        Times are filled in when they are measured.
        """
        self.baseline_plans = {}
        alone, rest = [], []
        for name in self.options.targets:
            result = self._baseline_plan(name)
            why_not = "" if result else why_not_alone(self.found.graph, name, self.planned.costed, self.found.log.sample)
            alone.append(self._baseline(name, result, why_not))
            others = None if result else self._baseline_plan(with_rest(name))
            if others:
                rest.append(self._baseline(with_rest(name), others, ""))
        greedy = self._baseline(GREEDY, self._baseline_plan(GREEDY), "the largest sub-graphs leave nodes that nothing covers")
        partitioned = [self._partitioning_row(partitioning) for partitioning in self.found.partitionings]
        return [*alone, *rest, *partitioned, greedy]

    def _baseline_plan(self, name: str) -> SearchResult | None:
        return baseline(name, self.planned.problem, self.planned.costed, self.plans.settings, self.found.partitionings)

    def _partitioning_row(self, partitioning: Partitioning) -> dict[str, Any]:
        """The row of a partitioning, with its partitions: whoever explains the plan tells where the two differ."""
        result = self._baseline_plan(partitioning.name)
        row = self._baseline(partitioning.name, result, "" if result else why_not_partitioned(partitioning, self.planned.costed))
        chosen = [self.planned.problem.candidates[index] for index in result.chosen] if result else []
        placed = [{"id": one.id, "target": one.target, "nodes": list(one.inside)} for one in chosen]
        return {**row, "partitions": placed}

    def _baseline(self, name: str, result: SearchResult | None, why_not: str) -> dict[str, Any]:
        if result is None:
            return {"name": name, "total_s": None, "measured_s": None, "reason": why_not}
        total_s = known_total_s(self.planned.costed, result)
        if guessed_total_s(self.planned.problem, result) is not None or not self.loop.is_cut_off:
            self.baseline_plans[name] = result.chosen
        reason = "some of its costs are not known" if total_s is None else ""
        return {"name": name, "total_s": total_s, "measured_s": None, "reason": reason}

    @property
    def estimated_error(self) -> float:
        """Return the sum of the errors of the plan's partitions, as far as they count (`ErrorBudget`)."""
        return estimated_error(self.planned.problem, self.planned.final.chosen)
