"""The phases, in order, emitting events: what the command line, the server and a notebook all call.

What builds is imported when something is built: a search that runs again does without.

Design, "The house"; RFC 62 (0.81), phases 1 to 4. What enters is a model and `Options`; what leaves is a `RunRecord`, and
with ``out`` a folder with plan, run and artifact. Toolchains never run in this process.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from . import finding
from .certainty import by_priority_within_noise, noise_s, stability
from .cost import Cost, CostEstimator, Known, LazyEstimator, make_estimator
from .errors import AccuracyError, Cancelled, CollageError, InfeasibleError
from .events import CandidateCosted, Emit, Event, Note
from .finding import Found, Phases, model_document, no_collector
from .graph import IndexSet
from .lazy import LazyCosts
from .model import OnnxModel, load_model
from .options import Options
from .plan import Plan, PlannedModel, PlannedTarget
from .planning import (
    How,
    Planned,
    alone,
    by_priority,
    host_cost,
    make_problem,
    merge_rounds,
    placed_partitions,
    placed_transitions,
    plan_document,
    plan_event,
    regret_seconds,
    search_document,
    search_first,
    searched,
    within_noise,
)
from .record import CostedCandidate, RunRecord
from .rules import HOST_TARGET, CandidatePartition, make_candidate
from .samples import resolve
from .search import FEMTOSECONDS, Constraint, SearchProblem, SearchResult, Transition, parse_constraints, parse_objective, solve
from .toolchains import get

MOST_OFFENDERS = 8
"""Partitions that are done without, one after another, where the whole plan errs too much."""

__all__ = ["Options", "RunRecord", "apply", "find", "partition", "search_again"]


def ignore(event: Event) -> None:
    """Listens to nothing."""


def find(source: str | Path, options: Options, emit: Emit = ignore) -> dict[str, Any]:
    """Phases 1 and 2 alone: the document that `collage candidates --json` prints."""
    return finding.find(source, options, emit)


def partition(source: str | Path, options: Options, emit: Emit = ignore) -> RunRecord:
    """The whole pipeline (design, `partition`).

    Measured costs go on to build, verify and time the plan and every target alone; with other costs that is done only
    with ``options.out``.

    Raises:
        CollageError: a mistake of the user.
        InfeasibleError: no plan exists.
        AccuracyError: the assembled plan is over the accuracy; the plan and the run are written all the same.
    """
    run = Run(source, options, emit)
    try:
        run.cost()
        run.search()
    finally:
        run.close()
    record = run.record()
    if options.out is not None:
        make_folder(options.out)
        record.save(options.out)
    if options.is_measured or (options.out is not None and run.can_build()):
        record = _built(run, record)
        if options.out is not None:
            record.save(options.out)
        check_accuracy(record.document["verify"], record.plan.accuracy)
    return record


def _built(run: Run, record: RunRecord) -> RunRecord:
    """Build the plan; while it errs too much, another one without the partition that errs most."""
    for _ in range(MOST_OFFENDERS):
        if run.build(record):
            return record
        verify, before = record.document["verify"], run.planned
        if not run.do_without_worst(verify["max_rel_error"]):
            return record
        record = run.record()
        if run.planned.final.chosen == before.final.chosen:
            break
    run.build(record)
    return record


class Run:
    """One run of the pipeline: what the phases hand to each other. `partition` is the way in; the bench takes single steps."""

    def __init__(self, source: str | Path, options: Options, emit: Emit):
        self.options = options
        self.emit = emit
        self.phases = Phases(emit)
        self.deadline = None if options.time_limit_s is None else time.monotonic() + options.time_limit_s
        self.found = Found(source, options, self.phases, emit)
        self.inputs = _inputs(self.found.model, options)
        self.estimator: CostEstimator = make_estimator(
            options.costs,
            model=self.found.model,
            inputs=self.inputs,
            threads=options.used_threads,
            accuracy=self.found.accuracy(),
            toolchains=self.found.toolchains,
            emit=emit,
            should_stop=self.is_over,
        )
        self.counts = {name: {"invalid": 0, "measured": 0, "cache_hits": 0} for name in options.targets}
        self._told: set[tuple[str, int]] = set()
        self.lazy: LazyCosts | None = None
        self.least: int | None = None
        """Of the total, in femtoseconds, as far as bounds tell, where the time was over before all that matters was measured."""
        self.how = How(options.search, parse_objective(options.objective), self.is_over)

    def close(self) -> None:
        """Let go of the workers."""
        self.estimator.close()

    def is_over(self) -> bool:
        """Whether the time that the user allowed is over."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def cost(self) -> None:
        """Costs of every candidate; where they are measured, of those that can matter."""
        with self.phases("costs"):
            pairs = self._transition_pairs()
            self.transitions = {
                ends: Transition(pair.fixed_s * FEMTOSECONDS, pair.per_byte_s * FEMTOSECONDS) for ends, pair in pairs.items()
            }
            first, estimator = self.found.costed_first, self.estimator
            if isinstance(estimator, LazyEstimator) and not self.options.measure_all:
                self.costed = self._lazily(first, estimator)
            else:
                self.costed = self._costs_of(first)

    def _transition_pairs(self) -> Mapping[tuple[str, str], Any]:
        """What hand-overs cost, in seconds; nothing where the time limit was over before they were measured."""
        try:
            return self.estimator.transitions(self.options.targets).pairs
        except Cancelled:
            self.emit(Note("the time limit was over before hand-overs were measured: they count as free"))
            return {}

    def _lazily(self, candidates: Sequence[CandidatePartition], estimator: LazyEstimator) -> list[CostedCandidate]:
        placed = [candidate for candidate in candidates if candidate.target != HOST_TARGET]
        known = {candidate: host_cost() for candidate in candidates if candidate.target == HOST_TARGET}
        self._tell(estimator.recall(placed), known, placed)
        self.lazy = LazyCosts(self.found.graph, candidates, estimator.sort_of, known, self._measured, self._places)
        costed = self.lazy.run()
        if not self.lazy.is_cut_off:
            return costed
        self.least = self._solved(costed).final.total
        late = Cost.unknown("the time limit was over before it was measured")
        missing = sum(item.cost.source == "estimate" for item in costed)
        self.emit(Note(f"the time limit was over: {missing} of {len(placed)} candidates have no known cost"))
        return [CostedCandidate(item.held, late) if item.cost.source == "estimate" else item for item in costed]

    def _measured(self, wanted: Sequence[CandidatePartition]) -> dict[CandidatePartition, Cost]:
        """Costs of `wanted`, of as many as the time allows."""
        costs: dict[CandidatePartition, Cost] = {}
        with suppress(Cancelled):
            self._tell(self.estimator.estimate(self.found.graph, wanted), costs, wanted)
        return costs

    def _places(self, costed: list[CostedCandidate]) -> list[int]:
        """Places in `costed` of the best plan's candidates."""
        usable = [place for place, item in enumerate(costed) if not item.cost.is_invalid]
        return [usable[index] for index in self._solved(costed).final.chosen]

    def problem(self, costed: list[CostedCandidate]) -> SearchProblem:
        """What is searched where candidates cost what `costed` says."""
        return make_problem(self.found.graph, costed, self.transitions, self.found.toolchains)

    def _solved(self, costed: list[CostedCandidate], emit: Emit = ignore) -> Planned:
        problem = self.problem(costed)
        result = searched(problem, self.constraints(problem), self.how, emit)
        return Planned(result, result, problem, costed)

    def constraints(self, problem: SearchProblem) -> list[Constraint]:
        """Those of the user, for `problem`."""
        return parse_constraints(list(self.options.constraints), problem)

    def search_over(self, costed: list[CostedCandidate]) -> Planned:
        """The best plan, all of it measured where costs are."""
        while True:
            planned = self._solved(costed, self.emit)
            usable = [place for place, item in enumerate(costed) if not item.cost.is_invalid]
            chosen = [usable[index] for index in planned.final.chosen]
            more = self.lazy.measured(costed, chosen) if self.lazy is not None and not self.lazy.is_cut_off else None
            if more is None:
                return planned
            costed = more

    def search(self) -> None:
        """Phase 3, with merging."""
        with self.phases("search"):
            planned = self.search_over(self.costed)
            if self.least is not None:
                final = replace(planned.final, optimal=False, stopped=True, lower_bound=min(self.least, planned.final.total))
                planned = replace(planned, first=final, final=final)
            self.emit(plan_event(planned.problem, planned.first, 0))
        with self.phases("merge"):
            self._decide(merge_rounds(planned, self.search_over, self.cost_merged, self.emit))
        said = by_priority(self.planned)
        if said:
            self.emit(Note(said))

    def _decide(self, best: Planned) -> None:
        """The plan, where measurements can tell the best one, and how sure it is."""
        self.planned = best
        self.baselines = self._baselines()
        constraints = self.constraints(best.problem)
        totals = [row["total_s"] for row in self.baselines if row["total_s"] is not None]
        self.planned = by_priority_within_noise(best, constraints, self.how, min(totals, default=None))
        chosen = {index: best.problem.candidates[index] for index in self.planned.final.chosen}
        self.preferred = {candidate.id for index, candidate in chosen.items() if index not in best.final.chosen}
        if self.preferred:
            above_s = (self.planned.final.total - best.final.total) / FEMTOSECONDS
            self.emit(Note(within_noise(len(self.preferred), above_s, noise_s(best))))
        self.stability = stability(self.planned, constraints, self.how)
        self.regret_s = regret_seconds(self.planned, constraints)

    def cost_merged(self, wanted: Sequence[tuple[str, int]]) -> list[CostedCandidate]:
        """Costs of neighbours as one, given as (target, nodes as bits)."""
        graph = self.found.graph
        candidates = [make_candidate(graph, target, IndexSet.from_bits(bits), f"{target}.merged") for target, bits in wanted]
        return self._costs_of(candidates)

    def _costs_of(self, candidates: Sequence[CandidatePartition]) -> list[CostedCandidate]:
        """Ask the estimator, and keep the order of `candidates`. What the time limit leaves unmeasured is unknown."""
        placed = [candidate for candidate in candidates if candidate.target != HOST_TARGET]
        free = host_cost()
        costs = {candidate: free for candidate in candidates if candidate.target == HOST_TARGET}
        try:
            with nullcontext() if self.options.is_measured else no_collector():
                self._tell(self.estimator.estimate(self.found.graph, placed), costs, placed)
        except Cancelled:
            late = Cost.unknown("the time limit was over before it was measured")
            missing = [candidate for candidate in placed if candidate not in costs]
            costs.update(dict.fromkeys(missing, late))
            self.emit(Note(f"the time limit was over: {len(missing)} of {len(placed)} candidates have no known cost"))
        return [CostedCandidate(candidate, costs[candidate]) for candidate in candidates]

    def _tell(self, known: Iterable[Known], costs: dict[CandidatePartition, Cost], asked: Sequence[CandidatePartition]) -> None:
        """Fill `costs` as they get `known`, and tell each once for each distinct computation."""
        alike: dict[tuple[str, int], list[CandidatePartition]] = defaultdict(list)
        for candidate in asked:
            alike[candidate.target, candidate.computation].append(candidate)
        told = self._told
        total = len(alike.keys() | told)
        for candidate, cost, from_cache in known:
            costs[candidate] = cost
            count = self.counts[candidate.target]
            count["invalid"] += cost.is_invalid
            sort = (candidate.target, candidate.computation)
            if sort in told:
                continue
            told.add(sort)
            count["cache_hits"] += from_cache
            count["measured"] += self.options.is_measured and not from_cache
            if self.emit is not ignore:
                label, ids = candidate.sub_graph.label, tuple(same.id for same in alike[sort])
                self.emit(CandidateCosted(candidate.target, ids, label, cost.to_json(), from_cache, len(told), total))

    def can_build(self) -> bool:
        """Whether every target of the plan can be built here."""
        used = {partition.target for partition in self.plan.partitions} - {HOST_TARGET}
        return all(self.found.toolchains[target].availability().usable for target in used)

    def record(self) -> RunRecord:
        """What the run found, before anything is built."""
        model, options = self.found.model, self.options
        self.plan = Plan(
            model=PlannedModel(name=model.name, hash=model.hash),
            targets=tuple(PlannedTarget(name=name, version=t.availability().version) for name, t in self.found.toolchains.items()),
            options=options.to_json(),
            constraints=tuple(dict(item) for item in options.constraints),
            machine=self.estimator.machine,
            accuracy=self.found.accuracy(),
            total_s=self.planned.final.total / FEMTOSECONDS,
            partitions=placed_partitions(self.found.graph, self.planned, self.stability, self.preferred),
            transitions=placed_transitions(self.planned),
        )
        return RunRecord(
            document=self._document(),
            graph=self.found.graph,
            candidates=self.planned.costed,
            rejected=[rejection.to_json() for rejection in self.found.log.sample],
            problem=self.planned.problem,
            plan=self.plan,
            regret_s=self.regret_s,
            created=_now(),
            machine=self.estimator.machine,
        )

    def _document(self) -> dict[str, Any]:
        targets = []
        for name in self.options.targets:
            targets.append(
                {
                    "name": name,
                    "candidates": len(self.found.by_target[name]),
                    "unique": self.found.unique[name],
                    "deferred": sum(candidate.deferred for candidate in self.found.by_target[name]),
                    **self.counts[name],
                }
            )
        return {
            "schema": 1,
            "model": model_document(self.found.model),
            "phases": self.phases.to_json(),
            "targets": targets,
            "search": search_document(self.planned),
            "plan": plan_document(self.plan),
            "baselines": self.baselines,
            "verify": {
                "measured_s": None,
                "additive_error_s": None,
                "max_rel_error": None,
                "reference": None,
                "accuracy": self.plan.accuracy,
            },
        }

    def _baselines(self) -> list[dict[str, Any]]:
        """Every target alone, and greedy, over the same costs; times are filled in when they are measured."""
        self.baseline_plans: dict[str, tuple[int, ...]] = {}
        made = []
        problem = self.planned.problem
        for name in self.options.targets:
            made.append(self._baseline(name, alone(problem, name, self.how), f"{name} cannot take every node"))
        return [*made, self._baseline("greedy", greedy_plan(problem), "the largest sub-graphs leave nodes that nothing covers")]

    def _baseline(self, name: str, result: SearchResult | None, why_not: str) -> dict[str, Any]:
        if result is None:
            return {"name": name, "total_s": None, "measured_s": None, "reason": why_not}
        self.baseline_plans[name] = result.chosen
        is_known = all(self.planned.problem.candidates[index].cost is not None for index in result.chosen)
        total_s = result.total / FEMTOSECONDS if is_known else None
        return {"name": name, "total_s": total_s, "measured_s": None, "reason": "" if is_known else "some of its costs are not known"}

    def do_without_worst(self, error: float) -> bool:
        """Search again without the partition of the plan that errs most; False where none errs, or there is no plan without it."""
        usable = [place for place, item in enumerate(self.planned.costed) if not item.cost.is_invalid]
        chosen = [usable[index] for index in self.planned.final.chosen]
        place = max(chosen, key=lambda place: self.planned.costed[place].cost.error or 0.0)
        worst = self.planned.costed[place]
        if not worst.cost.error:
            return False
        own = f"of its partitions this one erred most: {worst.cost.error:.3g}"
        reason = f"the whole plan erred by {error:.3g}, {self.plan.accuracy:g} is allowed; {own}"
        costed = [*self.planned.costed]
        costed[place] = CostedCandidate(worst.held, replace(Cost.invalid("numerics", reason), error=worst.cost.error))
        try:
            planned = replace(self.search_over(costed), first=self.planned.first)
        except InfeasibleError:
            return False
        where = f"{worst.target}, {len(worst.inside)} nodes from {self.found.graph.nodes[worst.inside.base].name!r}"
        self.emit(Note(f"{reason} ({where}): the search goes on without it"))
        self._decide(merge_rounds(planned, self.search_over, self.cost_merged, self.emit))
        return True

    def build(self, record: RunRecord) -> bool:
        """Phase 4: assemble, verify, and measure side by side with the baselines; fills in the record's document.

        Whether the plan is within its accuracy; where it is not, nothing is timed beside it.
        """
        from .building import build_and_verify, measure_side_by_side

        document = record.document
        with build_and_verify(self.found.model, self.plan, self.inputs, self.phases, self.emit, self.options.out) as built:
            document["verify"].update(built.verify)
            is_right = bool(built.verify["max_rel_error"] <= self.plan.accuracy)
            if self.options.is_measured and is_right:
                with self.phases("baselines"):
                    plans = {name: self._plan_of(chosen) for name, chosen in self.baseline_plans.items()}
                    measure_side_by_side(built, plans, document, self.emit)
        document["phases"] = self.phases.to_json()
        return is_right

    def _plan_of(self, chosen: tuple[int, ...]) -> Plan:
        final = replace(self.planned.final, chosen=chosen)
        planned = replace(self.planned, final=final)
        return self.plan.model_copy(update={"partitions": placed_partitions(self.found.graph, planned)})


def search_again(record: RunRecord, constraints: Sequence[dict[str, Any]], emit: Emit = ignore) -> RunRecord:
    """Phase 3 alone, on the costs that `record` knows, under other constraints. Nothing is measured or built.

    Raises:
        CollageError: a constraint is malformed.
        InfeasibleError: no plan holds them.
    """
    phases = Phases(emit)
    parsed = parse_constraints(list(constraints), record.problem)
    with phases("search"):
        result = search_first(record.problem, parsed, How.given(record.plan.options), emit)
    planned = Planned(result, result, record.problem, record.candidates)
    regret_s = regret_seconds(planned, parsed)
    plan = record.plan.model_copy(
        update={
            "constraints": tuple(dict(item) for item in constraints),
            "total_s": result.total / FEMTOSECONDS,
            "partitions": placed_partitions(record.graph, planned),
            "transitions": placed_transitions(planned),
        }
    )
    verify = {"measured_s": None, "additive_error_s": None, "max_rel_error": None, "reference": None, "accuracy": plan.accuracy}
    document = {
        **record.document,
        "phases": phases.to_json(),
        "search": search_document(planned),
        "plan": plan_document(plan),
        "verify": verify,
    }
    return replace(record, document=document, plan=plan, regret_s=regret_s, created=_now())


def apply(plan: Plan, source: str | Path, out: Path, emit: Emit = ignore) -> dict[str, Any]:
    """Phase 4 alone: build what `plan` says, verify it, and leave the artifact in `out`; gives the `verify` document.

    Raises:
        CollageError: the plan is for another model, or a target of it is not usable here.
        AccuracyError: the artifact computes something else than the model; nothing is left in `out`.
    """
    from .building import build_and_verify

    shapes = {name: tuple(shape) for name, shape in plan.options.get("shapes", {}).items()}
    phases = Phases(emit)
    with phases("load"):
        model = load_model(resolve(str(source)), shapes, plan.options.get("fold", True), finding.model_name(source))
    if model.hash != plan.model.hash:
        raise CollageError(
            f"the plan is for the model {plan.model.name!r} ({plan.model.hash[:16]}), this is {model.name!r} ({model.hash[:16]})",
            "make a plan for this model with `collage partition`",
            "other_model",
        )
    plan.check_covers(tuple(node.name for node in model.graph.nodes))
    finding.check_usable(get(name) for name in dict.fromkeys(p.target for p in plan.partitions) if name != HOST_TARGET)
    make_folder(out)
    with build_and_verify(model, plan, model.seeded_inputs(), phases, emit, out) as built:
        plan.write(out / "plan.json")
        check_accuracy(built.verify, plan.accuracy)
        return {**built.verify, "accuracy": plan.accuracy}


def greedy_plan(problem: SearchProblem) -> SearchResult | None:
    """The greedy plan, or None when it does not cover the model."""
    try:
        return solve(problem, (), "greedy")
    except InfeasibleError:
        return None


def check_accuracy(verify: dict[str, Any], accuracy: float) -> None:
    """Raise AccuracyError when the verified error is over `accuracy`."""
    error = verify["max_rel_error"]
    if error is not None and not error <= accuracy:
        raise AccuracyError(
            f"the partitioned model is wrong: its largest relative error is {error:.3g}, {accuracy:g} is allowed; nothing was exported",
            "allow more with --accuracy, or veto the target whose partition errs",
        )


def make_folder(folder: Path) -> None:
    """Make `folder`. Raises CollageError where it cannot be made or written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CollageError(
            f"cannot write to the folder {str(folder)!r}: {error.strerror}", "give another folder with --out", "unwritable"
        ) from error


def _inputs(model: OnnxModel, options: Options) -> dict[str, np.ndarray]:
    """The user's inputs, or seeded ones."""
    if options.inputs is None:
        return model.seeded_inputs()
    try:
        with np.load(options.inputs, allow_pickle=False) as data:
            return model.check_inputs(dict(data))
    except (OSError, ValueError) as error:
        raise CollageError(
            f"cannot read the inputs {str(options.inputs)!r}: {error}", "give an .npz with one array for each input", "bad_inputs"
        ) from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
