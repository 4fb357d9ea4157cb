"""The phases, in order, emitting events: what the command line, the server and a notebook all call.

What builds is imported when something is built: a search that runs again does without.

Design, "The house"; RFC 62 (0.81), phases 1 to 4. What enters is a model and `Options`; what leaves is a `RunRecord`, and
with ``out`` a folder with plan, run and artifact. Toolchains never run in this process.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..cost.cost import Cost
from ..cost.database.records import now
from ..cost.estimators.function import CostFunction
from ..errors import CollageError, InfeasibleError
from ..events import Emit, Note, ignore
from ..model.onnx_model import OnnxModel
from ..options import Options
from ..rewrite.plan import Plan, PlannedModel, PlannedTarget
from ..rules.spec import HOST_TARGET
from ..search.problem import FEMTOSECONDS
from ..search.searcher import SearchResult, after, never
from .apply import check_accuracy, make_folder
from .certainty import break_ties_by_priority, noise_s, stability, total_interval_s
from .costing import Costing
from .described import described_options
from .discover import CandidateSet, Phases, model_document
from .planning import (
    Planned,
    alone,
    greedy_plan,
    known_total_s,
    merge_rounds,
    not_verified,
    placed_partitions,
    placed_transitions,
    plan_document,
    plan_event,
    priority_note,
    regret_seconds,
    search_document,
    within_noise,
)
from .record import CostedCandidate, RunRecord

MOST_EXCLUSIONS = 8
"""Partitions that are done without, one after another, where the whole plan errs too much."""

LEAST_SURER_S = 10.0
"""So long further repetitions may take in any case."""


def partition(source: str | Path, options: Options, emit: Emit = ignore, function: CostFunction | None = None) -> RunRecord:
    """The whole pipeline (design, `partition`).

    Measured costs go on to build, verify and time the plan and every target alone; with other costs that is done only
    with ``options.out``. What a described toolchain has a part in is not built.

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
    """Build the plan; while it errs too much, another one without the partition that errs most."""
    for _ in range(MOST_EXCLUSIONS):
        if run.build(record):
            return record
        verify, before = record.document["verify"], run.planned
        if not run.exclude_worst(verify["max_rel_error"]):
            return record
        record = run.record()
        if run.planned.final.chosen == before.final.chosen:
            break
    run.build(record)
    return record


class Run:
    """One run of the pipeline: what the phases hand to each other. `partition` is the way in; the bench takes single steps.

    Attributes:
        is_over: Tells whether the time that the user allowed is over.
    """

    def __init__(self, source: str | Path, options: Options, emit: Emit, function: CostFunction | None = None):
        self.options = options
        self.emit = emit
        self.phases = Phases(emit)
        self.is_over = never if options.time_limit_s is None else after(options.time_limit_s)
        self.found = CandidateSet(source, options, self.phases, emit)
        self.inputs = _inputs(self.found.model, options)
        if options.inputs is None and options.builds and self.found.model.inputs_note:
            emit(Note(f"{self.found.model.inputs_note} (--inputs FILE.npz brings your own)"))
        self.costing = Costing(self.found, self.inputs, options, emit, self.is_over, function)

    def close(self) -> None:
        """Let go of the workers."""
        self.costing.close()

    def cost(self) -> None:
        """Costs of every candidate; where they are measured, of those that can matter."""
        with self.phases("costs"):
            self.costed = self.costing.first()

    def search(self) -> None:
        """Phase 3, with merging."""
        with self.phases("search"):
            planned = self._searched()
            self.emit(plan_event(planned.problem, planned.first, 0))
        with self.phases("merge"):
            self._decide(self._surest(self._merged(planned)))
        said = priority_note(self.planned)
        if said:
            self.emit(Note(said))

    def _searched(self) -> Planned:
        """The best plan over the rules' candidates."""
        planned = self.costing.search_over(self.costed)
        if self.costing.least is None:
            return planned
        final = replace(planned.final, optimal=False, stopped=True, lower_bound=min(self.costing.least, planned.final.total))
        return replace(planned, first=final, final=final)

    def _surest(self, best: Planned) -> Planned:
        """The best plan where what it rests on is measured in further repetitions, as far as that takes no longer than the costs did."""
        deadline = time.monotonic() + max(LEAST_SURER_S, self.phases.seconds["costs"] or 0.0)
        while (left_s := deadline - time.monotonic()) > 0 and (surer := self.costing.surer(self.costed, best, left_s)):
            self.costed = surer
            best = self._merged(self._searched())
        return best

    def _merged(self, planned: Planned) -> Planned:
        return merge_rounds(planned, self.costing.search_over, self.costing.cost_merged, self.emit)

    def _decide(self, best: Planned) -> None:
        """The plan, where measurements can tell the best one, and how sure it is."""
        self.planned = best
        self.baselines = self._baselines()
        constraints = self.costing.constraints(best.problem)
        totals = [row["total_s"] for row in self.baselines if row["total_s"] is not None]
        self.planned = break_ties_by_priority(best, constraints, self.costing.how, min(totals, default=None))
        chosen = {index: best.problem.candidates[index] for index in self.planned.final.chosen}
        self.preferred = {candidate.id for index, candidate in chosen.items() if index not in best.final.chosen}
        if self.preferred:
            above_s = (self.planned.final.total - best.final.total) / FEMTOSECONDS
            self.emit(Note(within_noise(len(self.preferred), above_s, noise_s(best))))
        self.stability = stability(self.planned, constraints, self.costing.how)
        self.regret_s = regret_seconds(self.planned, constraints)

    def why_not_built(self, plan: Plan) -> str:
        """Why `plan` cannot be built here; empty where it can."""
        for target in dict.fromkeys(partition.target for partition in plan.partitions if partition.target != HOST_TARGET):
            available = self.found.toolchains[target].availability()
            if not available.usable:
                return f"not built, since the target {target!r} is not usable here: {available.reason}"
        return ""

    def record(self) -> RunRecord:
        """What the run found, before anything is built."""
        model, options = self.found.model, self.options
        self.plan = Plan(
            model=PlannedModel(name=model.name, hash=model.hash),
            targets=tuple(PlannedTarget(name=name, version=t.availability().version) for name, t in self.found.toolchains.items()),
            options=described_options(options.to_json(), self.found.descriptions),
            constraints=tuple(dict(item) for item in options.constraints),
            machine=self.costing.machine,
            accuracy=self.found.accuracy(),
            total_s=self.planned.final.total / FEMTOSECONDS,
            total_interval_s=total_interval_s(self.planned),
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
            created=now(),
            machine=self.costing.machine,
            rules=self.found.rule_reports(),
        )

    def _document(self) -> dict[str, Any]:
        targets = []
        spared = self.costing.spared(self.planned.costed)
        for name in self.options.targets:
            targets.append(
                {
                    "name": name,
                    "candidates": len(self.found.by_target[name]),
                    "unique": self.found.unique[name],
                    "deferred": sum(candidate.deferred for candidate in self.found.by_target[name]),
                    **self.costing.counts[name],
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
            "baselines": self.baselines,
            "verify": not_verified(self.plan.accuracy),
        }

    def _baselines(self) -> list[dict[str, Any]]:
        """Every target alone, and greedy, over the same costs; times are filled in when they are measured."""
        self.baseline_plans: dict[str, tuple[int, ...]] = {}
        made = []
        problem = self.planned.problem
        for name in self.options.targets:
            made.append(self._baseline(name, alone(problem, name, self.costing.how), f"{name} cannot take every node"))
        return [*made, self._baseline("greedy", greedy_plan(problem), "the largest sub-graphs leave nodes that nothing covers")]

    def _baseline(self, name: str, result: SearchResult | None, why_not: str) -> dict[str, Any]:
        if result is None:
            return {"name": name, "total_s": None, "measured_s": None, "reason": why_not}
        total_s = known_total_s(self.planned.problem, result)
        if total_s is not None or not self.is_over():
            self.baseline_plans[name] = result.chosen
        reason = "some of its costs are not known" if total_s is None else ""
        return {"name": name, "total_s": total_s, "measured_s": None, "reason": reason}

    def exclude_worst(self, error: float) -> bool:
        """Search again without the partition of the plan that errs most; False where none errs, or there is no plan without it."""
        place = max(self.planned.places, key=lambda place: self.planned.costed[place].cost.error or 0.0)
        worst = self.planned.costed[place]
        if not worst.cost.error:
            return False
        own = f"of its partitions this one erred most: {worst.cost.error:.3g}"
        reason = f"the whole plan erred by {error:.3g}, {self.plan.accuracy:g} is allowed; {own}"
        costed = [*self.planned.costed]
        costed[place] = CostedCandidate(worst.held, replace(Cost.invalid("numerics", reason), error=worst.cost.error))
        try:
            planned = replace(self.costing.search_over(costed), first=self.planned.first)
        except InfeasibleError:
            return False
        where = f"{worst.target}, {len(worst.inside)} nodes from {self.found.graph.nodes[worst.inside.base].name!r}"
        self.emit(Note(f"{reason} ({where}): the search goes on without it"))
        self._decide(self._merged(planned))
        return True

    def build(self, record: RunRecord) -> bool:
        """Phase 4: assemble, verify, and measure side by side with the baselines; fills in the record's document.

        Whether the plan is within its accuracy; where it is not, nothing is timed beside it. Of one that cannot be built
        nothing is known, and the document says why.
        """
        from .assemble_and_verify import build_and_verify, measure_side_by_side

        document = record.document
        baselines = self.buildable_baselines(document)
        document["verify"]["reason"] = self.why_not_built(self.plan)
        if document["verify"]["reason"]:
            self.emit(Note(f"the plan is {document['verify']['reason']}"))
            return True
        with build_and_verify(self.found.model, self.plan, self.inputs, self.phases, self.emit, self.options.out) as built:
            document["verify"].update(built.verify)
            is_right = bool(built.verify["max_rel_error"] <= self.plan.accuracy)
            if self.options.is_measured and is_right:
                with self.phases("baselines"):
                    measure_side_by_side(built, baselines, document, self.emit, self.costing.lowest_core_latency_s)
        document["phases"] = self.phases.to_json()
        return is_right

    def buildable_baselines(self, document: dict[str, Any]) -> dict[str, Plan]:
        """Their plans; the rows of the others in `document` get the reason."""
        plans = {name: self._plan_of(chosen) for name, chosen in self.baseline_plans.items()}
        why_not = {name: self.why_not_built(plan) for name, plan in plans.items()}
        for row in document["baselines"]:
            row["reason"] = row["reason"] or why_not.get(row["name"], "")
        return {name: plan for name, plan in plans.items() if not why_not[name]}

    def _plan_of(self, chosen: tuple[int, ...]) -> Plan:
        final = replace(self.planned.final, chosen=chosen)
        planned = replace(self.planned, final=final)
        return self.plan.model_copy(update={"partitions": placed_partitions(self.found.graph, planned)})


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
