"""The phases, in order, emitting events: what the command line, the server and a notebook all call.

A model and `Options` enter; a `RunRecord` leaves, and with ``out`` a folder with plan, run and artifact (RFC 62, Collage, phases 1
to 4). Toolchains never run in this process. Modules that build are imported only when something is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.counted import counted
from ..cost.cost import Cost
from ..cost.estimators.function import CostFunction
from ..errors import AccuracyError, Cancelled, CollageError, InfeasibleError, PartitionBuildError
from ..events import BaselineMeasured, Emit, Note, PlanDecided
from ..options import Options
from ..rewrite.partition_models import PartitionModel
from ..rewrite.plan import Plan
from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from ..search.constraints.constraints import allowed_indices
from .apply import check_accuracy, make_folder
from .cancelled import NOT_BUILT, NOT_TIMED
from .inside.additive_error import additive_error_s, costs_inside
from .inside.timing_gap import Surroundings, timing_gap
from .loop.certainty import stability
from .loop.cost_table import is_settled
from .loop.deadline import LEAST_COMPARING_S, ComparingDeadlines, Deadline, comparing_deadlines
from .loop.error_budget import BudgetCorrection
from .loop.search_and_merge import Planned, known_total_s, refused_by_constraints, regret_seconds
from .record.record import CostedCandidate, RunRecord
from .searched_run import SearchedRun
from .whole.choose_finalists import another_plan, carried_over, finalists
from .whole.finalists import BARRED, SEARCHED, Finalist, WholeTime, alternatives, barred, decision_text, measured_plans
from .whole.trials_alone import TrialsAlone

if TYPE_CHECKING:
    from .whole.assemble_and_verify import Built
    from .whole.compare_whole import Comparison
    from .whole.nearest import Nearest

MOST_EXCLUSIONS = 8
"""Partitions that are excluded, one after another, where the whole plan errs too much."""
MOST_UNBUILDABLE = 30
"""Computations that are excluded, one after another, since nobody had built them before and their target cannot."""
NEAREST_S = 60.0
"""So long the nearest toolchain may be looked for, however little of the run's time is left: it is the answer where no plan is right."""
_FAILED_AT = {"numerics": "wrong", "run": "not run", "device": "not usable"}
"""Stage at which a partition failed → the beginning of what is said of it; at the others it was not built."""
TOO_LATE_TO_COMPARE = "no time was left to measure these plans whole: {} (--budget gives a run more)"


def run_once(source: str | Path, options: Options, emit: Emit, function: CostFunction | None, should_stop: Callable[[], bool]) -> RunRecord:
    """Run all phases for one region at one shape; arguments and errors are those of `partition`.

    Measured costs go on to build, verify and time the plan and every target alone; with other costs that is done only
    with ``options.out``. A plan in which a described toolchain has a part is not built.
    """
    run = Run(source, options, emit, function, should_stop=should_stop)
    try:
        run.cost()
        run.search()
    except InfeasibleError as error:
        if run.is_stopped():
            raise Cancelled from None
        raise run.with_nearest(error) from error
    finally:
        run.close()
    return finish(run)


def finish(run: Run) -> RunRecord:
    """Build and compare the plan of a run that has searched, as far as its options ask for that, and write what they ask for.

    Raises:
        CollageError, AccuracyError: as `run_once`.
    """
    options, record = run.options, run.record()
    if options.out is not None:
        make_folder(options.out)
        record.save(options.out)
    if options.builds:
        try:
            record = _built(run, record)
        finally:
            run.close()  # comparing whole plans may have measured more
            run.remove_packages()
        record.document["cancelled"] = run.cancelled_document(record.document)
        verify = record.document["verify"]
        if verify["max_rel_error"] is not None and not verify["max_rel_error"] <= record.plan.accuracy:
            nearest = run.nearest()
            verify["nearest"] = None if nearest is None else nearest.to_json()
        if options.out is not None:
            record.save(options.out)
        try:
            check_accuracy(verify, record.plan.accuracy)
        except AccuracyError as error:
            error.document = record.document
            raise
    return record


def _is_taken(cost: Cost) -> bool:
    """Return whether a candidate of this cost can be built and run; it may be wrong."""
    return not cost.is_invalid or cost.stage == "numerics"


def _built(run: Run, record: RunRecord) -> RunRecord:
    """Build the plan; where its error says so, another one, and at last each baseline in turn.

    Another one is searched for with a corrected error budget, or without the partition that errs most, while there is time.
    """
    correction, excluded = BudgetCorrection(), 0
    while True:
        record, is_right = _of_what_can_be_built(run, record)
        error = record.document["verify"]["max_rel_error"]
        if error is None or run.is_late() or not run.correct_budget(correction, error):
            if is_right or excluded == MOST_EXCLUSIONS or run.is_late() or not run.exclude_worst(error):
                break
            excluded += 1
        record = run.record()
    searched = record
    while not is_right and run.fall_back(record.document["verify"]["max_rel_error"]):
        record = run.record()
        is_right = run.build(record)
    return record if is_right else searched


def _of_what_can_be_built(run: Run, record: RunRecord) -> tuple[RunRecord, bool]:
    """Build the plan, and where one of its partitions cannot be built, or does not run, a plan without that computation.

    A cost that is no measurement, or that no time was left to measure, says nothing of whether the toolchain takes it.

    Returns:
        The record of the plan that was built, and what `Run.build` says of it.
    """
    for _ in range(MOST_UNBUILDABLE):
        try:
            return record, run.build(record)
        except CollageError as error:
            if error.code != "toolchain" or run.is_late() or not run.exclude_failing(error):
                raise
            record = run.record()
    return record, run.build(record)


class Run(SearchedRun):
    """One run of the pipeline, with phase 4 on top. `partition` is the way in; the bench takes single steps."""

    def is_late(self) -> bool:
        """Return whether too little time is left to search for another plan, and to compare that one."""
        return self.deadline.left_s < LEAST_COMPARING_S

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
        if not self.options.is_measured:
            return self._exclude_wrong(error)
        costed = self.planned.costed
        index = max(self.planned.indices, key=lambda index: costed[index].cost.error or 0.0)
        worst = costed[index]
        if not worst.cost.error:
            return False
        wrong = self._erring_most(error, worst.cost.error)
        said = f"{wrong.reason} ({self._where(worst)}): the search goes on without it"
        return self._goes_on(lambda: self.loop.with_costs(self.planned, {index: wrong}), said)

    def _erring_most(self, error: float, own: float) -> Cost:
        """Return the cost of a partition that errs by `own`, the most of all in a plan that errs by `error`."""
        reason = f"the whole plan erred by {error:.3g}, {self.plan.accuracy:g} is allowed; of its partitions this one erred most: {own:.3g}"
        return replace(Cost.invalid("numerics", reason), error=own)

    def _exclude_wrong(self, error: float) -> bool:
        """Search again without the partitions that are wrong alone, in a run whose costs say nothing of that; else without the worst."""
        costs = self._alone.costs(self._placed())
        failed = {candidate: cost for candidate, cost in costs.items() if cost.is_invalid}
        if not failed:
            worst = max(costs, key=lambda candidate: costs[candidate].error or 0.0, default=None)
            if worst is None or not costs[worst].error:
                return False
            failed = {worst: self._erring_most(error, costs[worst].error or 0.0)}
        return self._goes_without(failed)

    def exclude_failing(self, error: CollageError) -> bool:
        """Search again without the partition that `error` is about, or those that fail alone. Return False where there is no such plan."""
        if isinstance(error, PartitionBuildError):
            broken = [candidate for candidate in self._placed() if candidate.id == error.partition_id]
            return self._goes_without({candidate: Cost.invalid("build", error.reason) for candidate in broken})
        if self.options.is_measured:
            return False
        return self._goes_without({candidate: cost for candidate, cost in self._alone.costs(self._placed()).items() if cost.is_invalid})

    def _placed(self) -> list[CandidatePartition]:
        """Return the candidates of the plan."""
        return [item.held for item in self.planned.partitions if isinstance(item.held, CandidatePartition)]

    def _goes_without(self, failed: Mapping[CandidatePartition, Cost]) -> bool:
        """Search again without the computations that failed, and without what holds a node that fails alone where nobody measured that."""
        if not failed:
            return False
        table, told = self.loop.table, []
        for candidate, cost in failed.items():
            told.append(f"{_FAILED_AT.get(cost.stage, 'not built')} ({self._where(candidate)}): {cost.reason}")
            table.fail(candidate, cost)
            if not self.options.is_measured and len(candidate.inside) > 1:
                for nodes, alone in self._alone.failing_nodes(candidate, table.candidates):
                    name = self.found.graph.nodes[nodes.first()].name
                    table.fail_nodes(
                        candidate.target,
                        nodes,
                        replace(alone, reason=f"it holds a node that fails alone, as {name!r} does: {alone.reason}"),
                    )
        return self._goes_on(lambda: self.loop.again(self.planned), f"{'; '.join(told)}; the search goes on without it")

    @cached_property
    def _alone(self) -> TrialsAlone:
        return TrialsAlone(self.found, self.inputs, self.options, lambda: self.is_stopped() or self.is_late())

    def _goes_on(self, search: Callable[[], Planned], said: str) -> bool:
        """Make what `search` finds the plan, and say why; return False where it finds none."""
        try:
            with self.budget.counting():
                planned = search()
        except InfeasibleError:
            return False
        self.emit(Note(said))
        self._decide(planned)
        self.undecided = self.loop.undecided(self.planned)
        return True

    def _where(self, item: CostedCandidate | CandidatePartition) -> str:
        return f"{item.target}, {counted(len(item.inside), 'node')} from {self.found.graph.nodes[item.inside.base].name!r}"

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

    def with_nearest(self, error: InfeasibleError) -> InfeasibleError:
        """Return `error` with the target that alone comes nearest, where nodes are left since all that takes them errs too much."""
        from .whole.nearest import nearest_hint, nearest_text

        wrong = [item for item in self.loop.table.costed() if item.cost.stage == "numerics"]
        if not any(index in item.inside for item in wrong for index in error.uncovered):
            return error
        nearest = self.nearest()
        if nearest is None:
            return error
        found = nearest.to_json()
        return InfeasibleError(f"{error.message}; {nearest_text(found)}", nearest_hint(found), uncovered=error.uncovered)

    def nearest(self) -> Nearest | None:
        """Return the target that alone comes nearest to the reference; None where none can have the whole model, or was tried in time."""
        from .whole.nearest import nearest_alone

        alone = {name: pieces for name in self.options.targets if (pieces := self._pieces_alone(name))}
        deadline = Deadline(max(self.deadline.left_s, NEAREST_S))
        given = self.inputs, self.found.accuracy(), self.options.used_threads, self.options.value_policy
        return nearest_alone(self.found.model, alone, *given, lambda: self.is_stopped() or deadline.is_over())

    def _pieces_alone(self, target: str) -> list[PartitionModel]:
        """Return the partitions by which `target` has the whole model, though they err: one if it can; none where it cannot."""
        from .whole.assemble_and_verify import pieces_of

        graph, model = self.found.graph, self.found.model
        if not self.found.toolchains[target].availability().usable:
            return []
        whole = [item for item in self.loop.table.costed() if item.target == target and len(item.inside) == len(graph)]
        held = [item.held for item in whole if isinstance(item.held, CandidatePartition) and _is_taken(item.cost)]
        constraints = self.options.constraints
        if held and not refused_by_constraints(graph, held[:1], self.found.toolchains, constraints):
            return [PartitionModel(target, tuple(node.name for node in graph.nodes), model.cut(held[0].inside), held[0].id)]
        chosen = self.baseline_plans.get(target)
        if chosen is None or not set(allowed_indices(self.searched.problem, self.plans.constraints(self.searched.problem))).issuperset(
            chosen
        ):
            return []
        return pieces_of(model, self._plan_of(another_plan(self.searched, chosen)))

    def decide_over_shapes(self, found: Planned, chosen: tuple[int, ...], others: Mapping[str, tuple[int, ...]]) -> None:
        """Make `chosen` the plan, which is the best over several shapes.

        Args:
            found: The plan of the least sum at this shape; all plans here are plans of its problem.
            others: Name → a plan to measure beside it.
        """
        self.best = self.planned = self.searched = found
        self.baselines, self.undecided = self._baselines(), []
        for name, plan in others.items():
            total_s = known_total_s(found.costed, another_plan(found, plan).final)
            self.baseline_plans[name] = plan
            self.baselines.append({"name": name, "total_s": total_s, "measured_s": None, "reason": ""})
        if chosen != found.final.chosen:
            self._take(chosen)

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
        given = constraints, self.plans.settings, self._refused, self.loop.table.key
        return finalists(self.searched, self.planned, chosen, self._plan_of, *given)

    def build(self, record: RunRecord) -> bool:
        """Phase 4: assemble, verify, and measure whole beside the other finalists; fills in the record, with the fastest as its plan.

        Return whether the plan is within its accuracy; if not, nothing is timed beside it. A plan that cannot be built, or that the
        user has no patience for, counts as within it, and the document says why nothing was built.
        """
        document = record.document
        baselines = self.buildable_baselines(document)
        document["verify"]["reason"] = NOT_BUILT if self.is_stopped() else self.why_not_built(self.plan)
        is_right = True
        if not document["verify"]["reason"]:
            try:
                is_right = self._build(record, baselines)
            except Cancelled:
                document["verify"]["reason"] = NOT_BUILT
        if document["verify"]["reason"]:
            self.emit(Note(f"the plan is {document['verify']['reason']}"))
        document["phases"] = self.phases.to_json()
        return is_right

    def _build(self, record: RunRecord, baselines: Iterable[str]) -> bool:
        """As `build`, of a plan that can be built. Raises Cancelled where the user stopped the run before the plan was compared."""
        from .whole.assemble_and_verify import build_and_verify

        told = self.phases, self.emit, self.options.out, self.is_stopped
        with build_and_verify(self.found.model, self.plan, self.inputs, *told, packages=self.packages) as built:
            record.document["verify"].update(built.verify)
            if self.options.is_measured and built.is_right:
                try:
                    with self.phases("baselines"):
                        if self.is_stopped():
                            raise Cancelled
                        self._measure_whole(built, baselines, record)
                        self._profile_nodes(built, record)
                except Cancelled:  # The plan stands, verified; what was timed beside it by then is no comparison.
                    for row in record.document["baselines"]:
                        row["reason"] = row["reason"] or NOT_TIMED
            verify = record.document["verify"]
            verify["gap"] = timing_gap(self.plan, verify, Surroundings.since(built.load)) if self.options.is_measured else ""
            if verify["gap"]:
                self.emit(Note(verify["gap"]))
            return built.is_right

    def _measure_whole(self, built: Built, baselines: Iterable[str], record: RunRecord) -> None:
        """Time the plan beside the other finalists, take the fastest for the plan, and fill in the record."""
        from .whole.compare_whole import compare_whole

        others, deadlines = self._finalists(baselines), comparing_deadlines(self.budget.limit_s, self.deadline)
        outcome = compare_whole(built, others, self.emit, self.lowest_core_latency_s, deadlines)
        if outcome.winner:
            self._take(others[outcome.winner].chosen)
        missing = self._missing_costs()
        if missing:
            self.emit(Note("some partitions of the fastest plan were not measured alone: now they are, and the search runs again"))
        inside = costs_inside(self.planned, outcome.profile) if outcome.profile else {}
        if inside:
            said = f"the costs of {counted(len(inside), 'partition')} were corrected to what they take inside the whole"
            self.emit(Note(f"{said}, and the search ran again"))
        if missing or inside:
            others, outcome = self._over_other_costs({**missing, **inside}, built, others, outcome, deadlines)
        late = [next(iter(one.names)) for one in others if one.is_late]
        if late:
            self.emit(Note(TOO_LATE_TO_COMPARE.format(", ".join(late))))
        rows = alternatives(others, outcome.times, outcome.winner)
        changed = self.record()
        built.plan = self.plan
        built.verify["additive_error_s"] = additive_error_s(self.plan, built.verify["measured_s"])
        for kept in ("plan", "regret_s", "candidates", "problem"):
            setattr(record, kept, getattr(changed, kept))
        record.document.update({key: changed.document[key] for key in ("plan", "targets", "search", "budget", "bodies", "decided_by")})
        record.document.update(alternatives=rows, verify={**record.document["verify"], **built.verify})
        measured = {row["name"]: row for row in rows}
        for row in record.document["baselines"]:
            row.update({key: measured[row["name"]][key] for key in ("total_s", "measured_s", "reason") if row["name"] in measured})
            self.emit(BaselineMeasured(row["name"], row["total_s"], row["measured_s"], row["reason"]))
        name = next(iter(others[outcome.winner].names))
        self.emit(PlanDecided(record.document["decided_by"], name, built.verify["measured_s"], measured_plans(rows)))
        if self.planned is not self.searched:
            self.emit(Note(decision_text(record.document)))
        for one in barred(others, outcome.times, outcome.winner):
            self.emit(Note(f"{one} is faster, measured whole, but {BARRED}"))

    def _missing_costs(self) -> dict[int, Cost]:
        """Measure what the plan rests on and nobody measured, as far as there is time: index in ``planned.costed`` → its cost."""
        costed = self.planned.costed
        open_ = [index for index in self.planned.indices if costed[index].target != HOST_TARGET and not is_settled(costed[index].cost)]
        wanted = {held: index for index in open_ if isinstance(held := costed[index].held, CandidatePartition)}
        if not wanted or self.budget.is_over():
            return {}
        with self.budget.counting():
            return {wanted[candidate]: cost for candidate, cost in self._measure(list(wanted), None) if cost.seconds is not None}

    def _over_other_costs(
        self, costs: Mapping[int, Cost], built: Built, others: list[Finalist], outcome: Comparison, deadlines: ComparingDeadlines
    ) -> tuple[list[Finalist], Comparison]:
        """Search again where some partitions of the plan have other costs, and time what is found beside the plan, if there is time.

        Return the finalists over these costs, and their times.
        """
        from .whole.compare_whole import Comparison, compare_whole, needed_s

        before = self.planned
        with self.budget.counting():
            self._decide(self.loop.with_costs(before, costs))
        carried, ahead = carried_over(others, before.problem, self.searched, self._plan_of), outcome.winner
        times = list(outcome.times)
        if len(carried) > len(others) and needed_s(built, carried[-1:]) > deadlines.last.left_s:
            carried[-1].leave_for_time()
            times.append(WholeTime())
        elif len(carried) > len(others):
            try:
                again = compare_whole(built, [carried[ahead], carried[-1]], self.emit, self.lowest_core_latency_s, deadlines)
            except Cancelled:
                carried = carried[:-1]
            else:
                times = [*times[:ahead], again.times[0], *times[ahead + 1 :], again.times[1]]
                ahead = len(others) if again.winner else ahead
        self.undecided = self.loop.undecided(self.planned)
        if SEARCHED not in carried[ahead].names:
            self._take(carried[ahead].chosen)
        return carried, Comparison(ahead, times)

    def _profile_nodes(self, built: Built, record: RunRecord) -> None:
        """Profile the nodes inside the plan's partitions, and fill them into the record."""
        from .inside.profile_nodes import profiled_times

        worker = built.pool.worker("assemble")  # it has the toolchains, and no artifact whose threads would be in the way
        times = profiled_times(self.found.model, record.plan, self.inputs, worker, limit_s=self.deadline.left_s)
        record.document["node_times"] = [one.to_json() for one in times]

    def buildable_baselines(self, document: dict[str, Any]) -> dict[str, Plan]:
        """Their plans; the rows of the others in `document` get the reason."""
        plans = {name: self._plan_of(another_plan(self.searched, chosen)) for name, chosen in self.baseline_plans.items()}
        why_not = {name: self.why_not_built(plan) for name, plan in plans.items()}
        for row in document["baselines"]:
            row["reason"] = row["reason"] or why_not.get(row["name"], "")
        return {name: plan for name, plan in plans.items() if not why_not[name]}
