"""Phases 1 to 3 of a run: from the model to the plan of the least sum, with its record.

A model and `Options` enter; a `Decision` leaves, and its record before anything is built. Toolchains never run in this process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..base.durations import now
from ..base.garbage import no_collector
from ..base.home import why_nothing_is_kept
from ..base.isolation.process import await_imports, begin_imports
from ..base.isolation.worker import Pool
from ..base.processor import usable_cores
from ..cost.error_limit import ErrorLimit
from ..cost.estimator import CostEstimator, Known, LazyEstimator, ProfilingEstimator, TunedCosts, TuningEstimator
from ..cost.estimators.function import CostFunction
from ..cost.estimators.roofline import machine_rates
from ..cost.measuring.other_load import OtherLoad, busy_text
from ..cost.measuring.trial import TrialLimits, trial_workers
from ..cost.profile import ProfiledPart
from ..documents.run import CancelledInfo, RunDocument, TargetInfo
from ..documents.verify import Verify
from ..errors import Cancelled
from ..events import Emit, Event, Note, PlanImproved, StepStarted
from ..graph.work_estimate import WorkEstimator
from ..model.body_runs import BodyRuns
from ..options import Options
from ..rewrite.plan import Plan, PlannedModel, PlannedTarget
from ..rewrite.runtime.artifact_calls import MODULE_IMPORTS, RUNS_ONLY
from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from ..search.objectives import parse_objective
from ..search.problem import FEMTOSECONDS
from ..search.searcher import never
from ..toolchains.abilities import Tunes, layout_of
from ..toolchains.border import availability_of
from ..toolchains.built_packages import BuiltPackages
from ..toolchains.described import has_trials
from ..version import __version__
from .bodies.body_search import KEPT_AWAY, BodySearch, bodies_s
from .bodies.plan_bodies import PlannedNode
from .cancelled import UserStop, cancelled_document
from .decision import Decision, decide
from .described_targets import described_options
from .discover import CandidateSet, Phases, model_document
from .loop.budget import Budget, reserved_s, run_deadline, run_s
from .loop.certainty import noise_s, total_interval_s
from .loop.cost_progress import CostProgress
from .loop.cost_table import CostTable
from .loop.error_budget import ErrorBudget
from .loop.measure import Costs, MeasuringLoop
from .loop.measuring_policy import MeasureEverything, MeasuringPolicy
from .loop.search_and_merge import Planned, PlanSearch, SearchSettings, refused_by_constraints
from .loop.tuning import TuningStep, check_tunes
from .placement import placement
from .plan_documents import (
    bodies_document,
    budget_document,
    estimates_note,
    placed_partitions,
    placed_transitions,
    plan_document,
    planned_texts,
    priority_note,
    search_document,
    within_noise,
)
from .record.record import RunRecord, unknown_costs
from .run_estimator import estimator_of
from .whole.baselines import baseline_rows, find_baselines
from .whole.trials_alone import TrialsAlone

BUILT_ON_ESTIMATES, SEARCHED_BEFORE, LATE = 0.75, 0.5, 0.25
"""Shares of what is reserved for the end of the run: while the first is left, a plan on estimates is built, which may have to give way to
one of known costs; searches end when the second is left, and no other plan is looked for with the third."""


IMPORTING, MOST_IMPORTING_S = 0.1, 3.0
"""Measuring waits no longer for each import that began with the run, however busy the machine is: a share of its time, and seconds."""
OF_A_BODY = 0.25
"""So much of what a run reserves for its end the search of a body does."""


class FirstPlan:
    """Passes events on, and notes when the first complete plan of known costs was told.

    Attributes:
        after_s: Seconds from the start until then; None while there is none.
    """

    def __init__(self, emit: Emit, phases: Phases):
        self._emit, self._phases = emit, phases
        self.after_s: float | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, PlanImproved) and self.after_s is None:
            self.after_s = self._phases.elapsed_s
        self._emit(event)


class SearchedRun:
    """The services of one run, and its phases 1 to 3 on them; what they decide leaves as a `Decision`.

    Args:
        estimator: Gives the costs; the one that the options name unless given. It is closed with the run.
        should_stop: As `partition` takes it.
        body: The body of another model that is searched in place of the model `source`.
        workers: Of the run that searches the body: toolchains start once for a model and its bodies.
        waited_s: Seconds that the user has waited before; they count as time of the run.

    Attributes:
        is_stopped: Says whether the user has stopped the run.
        emit: Tells an event.
        budget: The time for measuring.
        deadline: When the run should be over.
        reserved_s: Those of them that measuring leaves for the end of the run.
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
        waited_s: float = 0.0,
    ):
        self._load = OtherLoad()
        self.phases = Phases(emit, waited_s)
        self.is_stopped = UserStop(should_stop, self.phases)
        # What builds and what runs the plan needs TVM. Its import takes a second, several on a busy machine: it goes on beside the search
        # for candidates, and is over before anything is timed.
        self._early = [{}, RUNS_ONLY] if body is None and options.builds else []
        for environment in self._early:
            begin_imports(environment, MODULE_IMPORTS)
        self.emit = self._first_plan = FirstPlan(emit, self.phases)
        if body is None and (reason := why_nothing_is_kept()):
            emit(Note(f"{reason}: nothing of this run is stored there, and later runs cannot use its measurements"))
        self._function, self._body = function, body
        self.found = CandidateSet(source, options, self.phases, emit, body, counts_runs=True)
        self.options = options = self.found.options
        self.found.check_constraints()  # before any is measured
        if options.tune_s is not None:
            check_tunes(self.found.toolchains, options.tune_s)
        self.deadline = run_deadline(options, len(self.found.graph), self.phases.elapsed_s)
        self._planned_s = run_s(options, len(self.found.graph))
        # Of a body alone nothing is built.
        self.reserved_s = reserved_s(self._planned_s if body is None else OF_A_BODY * self._planned_s)
        self.budget = Budget(
            max(0.0, self.deadline.left_s - (options.tune_s or 0.0) - self.reserved_s) if options.is_measured else math.inf,
            extend_run=self.deadline.extend if options.budget_s is None else None,
            should_stop=self.is_stopped,
        )
        if body is None and options.is_measured:
            self.budget.end_s = lambda: min(self.reserved_s, self.deadline.left_s)
        self.inputs = self.found.model.seeded_inputs() if self.found.given is None else self.found.given
        if self.found.given is None and options.builds and self.found.model.inputs_note:
            emit(Note(f"{self.found.model.inputs_note} (--inputs FILE.npz brings your own)"))
        if options.builds or options.is_measured:
            for note in self.found.model.input_sets(self.inputs, options.value_policy).notes:
                emit(Note(note))
        here = [name for name, chain in self.found.toolchains.items() if options.is_measured and has_trials(chain)]
        self.progress = CostProgress(options.targets, here, emit, lambda: self.loop.policy.likely(self.loop.table), self.budget)
        self._own_workers = trial_workers(TrialLimits.from_environment()) if options.is_measured and workers is None else None
        self._workers = workers or self._own_workers
        self.estimator = estimator or estimator_of(
            self.found, self.inputs, options, self.progress.pass_on, self.budget.is_over, function, self._workers
        )
        settings = SearchSettings(
            options.search,
            parse_objective(options.objective),
            lambda: self.is_stopped() or self.deadline.left_s < SEARCHED_BEFORE * self.reserved_s,
            options.time_limit_s,
        )
        errors = ErrorBudget.of(self.found.accuracy(), self.found.toolchains)
        self.plans = PlanSearch(self.found.graph, self.found.toolchains, self.transition_pairs, options.constraints, settings, errors)
        self.loop = self._loop()

    @property
    def packages(self) -> BuiltPackages | None:
        """The packages that were built while costs were measured; None where nobody measured them here."""
        return BuiltPackages(self._workers.folder) if self._workers is not None and self.options.fleet is None else None

    @property
    def whole_run_s(self) -> float:
        """Seconds that the run may take from its start to its answer, but for tuning."""
        return self._planned_s + self.budget.added_s

    @cached_property
    def trials_alone(self) -> TrialsAlone:
        """Trials of candidates whose costs are no measurements."""
        return TrialsAlone(self.found, self.inputs, self.options, lambda: self.is_stopped() or self.is_late())

    def is_late(self) -> bool:
        """Return whether too little time is left to search for another plan, and to compare that one."""
        return self.deadline.left_s < LATE * self.reserved_s

    def cancelled_document(self, document: RunDocument) -> CancelledInfo | None:
        """The ``cancelled`` part of the run's `document`."""
        placed = [candidate for candidate in self.loop.table.candidates if candidate.target != HOST_TARGET]
        late = sum(not self.loop.table.is_known(candidate) for candidate in placed) if self.loop.is_cut_off else 0
        return cancelled_document(self.is_stopped.phase, late, len(placed), document, self.options.builds)

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

    def cost(self) -> dict[int, PlannedNode]:
        """Phase ``costs``: the cost of every candidate; if costs are measured, of those that can matter.

        Return the nodes whose bodies were planned, by index.
        """
        if self.options.is_measured and self.options.fleet is None:
            with self.budget.counting():
                for environment in self._early:
                    most_s = min(MOST_IMPORTING_S, IMPORTING * self.budget.limit_s)
                    await_imports(environment, MODULE_IMPORTS, most_s, self.is_stopped)
            # Asked before this run keeps the machine busy: from now on its own trials do.
            busy = busy_text(self._load.cores(), usable_cores(), self.options.used_threads)
            if busy:
                self.emit(Note(f"{busy}: what is measured now may be too high, and unsteady"))
        with self.phases("costs"):
            bodies = self._plan_bodies() if self.found.body_runs else {}
            with self.budget.counting():
                if isinstance(self.estimator, LazyEstimator) and self.loop.policy.quantiles:
                    placed = [candidate for candidate in self.found.costed_first if candidate.target != HOST_TARGET]
                    self.loop.table.recall(dict(self.progress.follow(self.estimator.recall(placed), placed, recalls=True)))
                self.loop.costs()
                self.loop.check_plan()
        return bodies

    def _plan_bodies(self) -> dict[int, PlannedNode]:
        """Search the bodies of the model's nodes, and take what each of these nodes costs on the host.

        That is a part of measuring.
        """
        found, constraints = self.found, self.options.constraints
        for candidate in refused_by_constraints(found.graph, found.candidates, found.toolchains, constraints):
            if candidate.target == HOST_TARGET and candidate.inside.first() in found.body_runs:
                found.body_runs[candidate.inside.first()].reason = KEPT_AWAY
        limit_s = bodies_s(self.found.body_runs, self.options, self.budget.limit_s)
        search = BodySearch(self.found, self.options, limit_s, self.inputs, self.emit, self._search_body, self.is_stopped)
        with self.budget.counting():
            bodies = search.plan(self._body.runs if self._body else 1)
        for candidate in self.found.by_target[HOST_TARGET]:
            planned = bodies.get(candidate.inside.first())
            if planned is not None:
                self.loop.table.set_own(candidate, planned.cost)
        for text in planned_texts(self.found.graph, bodies):
            self.emit(Note(text))
        return bodies

    def _search_body(self, name: str, body: BodyRuns, options: Options, emit: Emit) -> RunRecord:
        run = SearchedRun(name, options, emit, self._function, should_stop=self.is_stopped, body=body, workers=self._workers)
        with closing(run):
            decision = run.search(run.cost())
        return run.record(decision)

    def search(self, bodies: Mapping[int, PlannedNode]) -> Decision:
        """Phases ``search`` and ``merge``, with whatever is measured meanwhile.

        Args:
            bodies: As `cost` returned them.
        """
        with self.phases("search"), self.budget.counting():
            planned = self.loop.search()
        with self.phases("merge"), self.budget.counting():
            planned = self.loop.tune(self.loop.repeat(self.loop.merge(planned)))
            if not self.budget.is_over():
                self.plans.learn_all_transitions()
            costed = self.loop.table.estimated(planned.costed)
            planned = replace(planned, costed=costed, problem=self.plans.problem(costed))
            decision = self.decide(planned, bodies)
            decision = replace(decision, undecided=self.loop.undecided(decision.planned))
        for note in (priority_note(decision.planned), estimates_note(decision.planned, is_built=self.options.builds)):
            if note:
                self.emit(Note(note))
        return decision

    def decide(self, planned: Planned, bodies: Mapping[int, PlannedNode]) -> Decision:
        """Step ``decide``: the plan, where measurements can tell the best one, and how sure it is."""
        self.emit(StepStarted("decide"))
        baselines = find_baselines(self.found, planned, self.plans.settings, is_cut_off=self.loop.is_cut_off)
        decision = replace(decide(planned, baselines, self.plans), bodies=bodies)
        if decision.decided_by:
            above_s = (decision.searched.final.total - decision.best.final.total) / FEMTOSECONDS
            self.emit(Note(within_noise(len(decision.decided_by), above_s, noise_s(decision.best))))
        return decision

    def _loop(self) -> MeasuringLoop:
        options, chains = self.options, self.found.toolchains
        lazy = self.estimator if isinstance(self.estimator, LazyEstimator) else None
        policy = MeasuringPolicy() if lazy and not options.measure_all else MeasureEverything()
        # Target of another boundary layout → the plain target of the same toolchain, if that is there.
        plain = {name: name.partition("@")[0] for name, chain in chains.items() if layout_of(chain)}
        layouts = {name: other for name, other in plain.items() if other in chains}
        key = lazy.computation_key if lazy else None
        table = CostTable(self.found.graph, self.found.costed_first, key, layouts, self.found.grouped)
        # A candidate of a library is a single call of it: two of them in a row are no call.
        singles = [name for name, chain in chains.items() if chain.style == "library"]
        asks = self.measure, self.plans.best, self.emit
        if lazy is None or not options.is_measured:
            return MeasuringLoop(table, policy, *asks, budget=self.budget, singles=singles)
        estimator, profiler = lazy, lazy if isinstance(lazy, ProfilingEstimator) and policy.quantiles else None
        profiled = [] if profiler is None else [name for name in options.targets if profiler.has_profiler(name)]
        return MeasuringLoop(
            table,
            policy,
            *asks,
            repeat=lambda candidates, best_s: self._followed(estimator.repeat(candidates, best_s), candidates),
            calls=lambda targets: self._followed(estimator.calls(targets), ()),
            budget=self.budget,
            tuning=self._tuning(),
            singles=singles,
            profile=self._profile if profiled else None,
            profiled_targets=profiled,
            limits=self._error_limits if profiler is not None else None,
            build_ahead=profiler.build_ahead if profiler is not None and profiled else None,
        )

    def _tuning(self) -> TuningStep | None:
        """The step ``tune``; None where it was not asked for."""
        estimator, seconds = self.estimator, self.options.tune_s
        if seconds is None or not isinstance(estimator, TuningEstimator):
            return None
        targets = [name for name, toolchain in self.found.toolchains.items() if isinstance(toolchain, Tunes)]
        work = WorkEstimator(self.found.graph)

        def floor_s(candidate: CandidatePartition) -> float:
            return machine_rates(self.options.used_threads).seconds(work(candidate.inside))

        def tune(candidate: CandidatePartition, seconds: float, best_s: float | None) -> TunedCosts | None:
            with suppress(Cancelled):
                return estimator.tune(candidate, seconds, best_s)
            return None

        return TuningStep(tune, targets, seconds, floor_s, self.budget, self.emit)

    def measure(self, candidates: Sequence[CandidatePartition], best_s: float | None) -> Costs:
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

    def _error_limits(self, candidate: CandidatePartition, ends: Sequence[int]) -> Iterator[ErrorLimit]:
        assert isinstance(self.estimator, ProfilingEstimator)
        with suppress(Cancelled):
            yield from self.estimator.error_limits(candidate, ends)

    def _followed(self, known: Iterable[Known], asked: Sequence[CandidatePartition]) -> Costs:
        """Yield the costs that got known in time.

        An estimator asks the budget whether to stop, and ends then as if the user had stopped it; for the run that only says that what
        is missing came too late.
        """
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

    def why_not_built(self, plan: Plan) -> str:
        """Why `plan` cannot be built here; empty where it can."""
        for target in plan.used_targets:
            available = availability_of(self.found.toolchains[target])
            if not available.usable:
                return f"not built, since the target {target!r} is not usable here: {available.reason}"
        return ""

    def record(self, decision: Decision) -> RunRecord:
        """Return the record of a decision before anything is built."""
        graph, planned, bodies = self.found.graph, decision.planned, decision.bodies
        plan = self.plan_of(planned, bodies, decision.stability, decision.decided_by)
        return RunRecord(
            document=self._document(decision, plan),
            graph=graph,
            candidates=planned.costed,
            rejected=[rejection.to_json() for rejection in self.found.log.sample],
            problem=planned.problem,
            plan=plan,
            regret_s=dict(decision.regret_s),
            created=now(),
            machine=self.estimator.machine,
            rules=self.found.rule_reports(),
            bodies={graph.nodes[index].name: dict(node.records) for index, node in bodies.items() if node.records},
        )

    def plan_of(
        self,
        planned: Planned,
        bodies: Mapping[int, PlannedNode],
        stability: Mapping[str, float] | None = None,
        decided_by: Mapping[str, str] | None = None,
    ) -> Plan:
        """Return a plan as its file has it.

        Args:
            bodies: As `cost` returned them.
            stability, decided_by: As `Decision` has them; None for a plan that nothing more is known of than its costs.
        """
        model, options, estimator = self.found.model, self.options, self.estimator
        tunings: dict[str, str] = {}
        if isinstance(estimator, TuningEstimator):
            # Those of all candidates: another plan of the same costs may hold any of them.
            used = {item.cost.tuned.digest for item in planned.costed if item.cost.tuned is not None}
            tunings = {digest: tuning.decode() for digest, tuning in estimator.tunings.items() if digest in used}
        return Plan(
            model=PlannedModel(name=model.name, hash=model.hash, fixed=model.fixed, assumed=model.assumed),
            targets=tuple(PlannedTarget(name=name, version=availability_of(t).version) for name, t in self.found.toolchains.items()),
            options=described_options(options.to_json(), self.found.descriptions),
            constraints=tuple(dict(item) for item in options.constraints),
            machine=estimator.machine,
            version=__version__,
            accuracy=self.found.accuracy(),
            total_s=planned.final.total / FEMTOSECONDS,
            total_interval_s=total_interval_s(planned),
            partitions=placed_partitions(self.found.graph, planned, stability, decided_by),
            transitions=placed_transitions(planned),
            **placement(planned.problem, planned.final.chosen),
            tuning=tunings,
            bodies={self.found.graph.nodes[index].name: node.bodies for index, node in bodies.items() if node.records},
        )

    def _document(self, decision: Decision, plan: Plan) -> RunDocument:
        options, spared = self.options, self.loop.table.spared(self.options.targets)
        spent = self.budget.spent_s, self.loop.tuned_s, self._first_plan.after_s
        document = RunDocument(
            model=model_document(self.found.model),
            phases=self.phases.info,
            targets=tuple(
                TargetInfo(
                    name=name,
                    candidates=len(self.found.by_target[name]),
                    unique=self.found.unique[name],
                    deferred=sum(candidate.deferred for candidate in self.found.by_target[name]),
                    **self.progress.counts[name],
                    spared=spared[name],
                )
                for name in options.targets
            ),
            search=search_document(decision.planned),
            plan=plan_document(plan),
            budget=budget_document(self.whole_run_s, *spent, decision.undecided) if options.is_measured else None,
            decided_by="sum" if decision.is_searched else "whole",
            alternatives=(),
            bodies=bodies_document(self.found.graph, decision.bodies, plan),
            baselines=baseline_rows(decision.baselines, decision.planned.problem),
            verify=Verify(
                accuracy=plan.accuracy,
                value_policy=plan.value_policy,
                estimated_error=decision.estimated_error if self.plans.budget.lowered else None,
            ),
            cancelled=None,
            unknown_costs=unknown_costs(decision.planned.costed),
        )
        return replace(document, cancelled=self.cancelled_document(document))
