"""`FakeEngine`: an engine that answers at once, and runs as the first target's name says (`fake_runs`): `ServerConfig.engine` in the tests.

Like every engine it is sent to the worker processes that the server starts, and works there. It imports nothing of the pipeline
before it has to, so that these processes start at once.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import fake_runs
from fake_runs import BEHAVIOURS, FakeRecord, Run, document_plan

from collage_core.documents.bodies import RunBodies
from collage_core.documents.candidates import (
    CandidateRegret,
    NodeCandidate,
    NodeCandidates,
    NodeRequest,
    RegretRequest,
    RunEstimates,
    RunRegrets,
)
from collage_core.documents.compare import AgainstRequest, CostedPlan, UnknownPart
from collage_core.documents.cost import CostInfo
from collage_core.documents.dry_run import DryRun
from collage_core.documents.json_form import from_json
from collage_core.documents.node_times import InsideTime, InsideTimes, NodeGroupTime, PartitionNodeTimes, RunNodeTimes
from collage_core.documents.plan import PlanInfo
from collage_core.documents.rules import RunRules
from collage_core.documents.run import RunDocument, RunModel
from collage_core.documents.shapes import RunShapes
from collage_core.documents.statements import NO_CHANGE, Statement, time_of_plan
from collage_core.documents.totals import RunTotals
from collage_core.documents.undecided import DecisionNeeds, RunUndecided, StablePart, UndecidedPart, UndecidedRival
from collage_core.documents.what_if import Effect, Effects, OtherTerms, PlanUnderTerms, TargetUnderTerms, TypedCost, WhatIfRequest
from collage_core.documents.worth import TargetSet, TargetStep, Worth
from collage_core.errors import CollageError, InfeasibleError
from collage_core.events import CandidateCosted, Emit, Note, PhaseEnded, PhaseStarted, PlanImproved, Verified
from collage_core.trace.trace_file import TraceWriter
from collage_core.what_if.questions import PlainRequest, Question
from collage_core.what_if.terms import Terms
from collage_core.what_if.totals import totals
from collage_server.worker.candidate_table import packed
from collage_server.worker.engine import A, CollageEngine, Engine, Json, Outcome, Q

BUSY = "other processes keep 1.8 of the 2 cores busy"
COST: dict[str, Any] = {"source": "measured", "samples": 9, "spread_s": 1e-4, "interval_s": 1e-4, "stage": "", "reason": ""}
DAWDLING_S = 1.5


def changed(seconds: float) -> Statement:
    return Statement(basis="predicted", change_s=float(seconds))


class FakeEngine(Engine[FakeRecord]):
    imports = CollageEngine.imports

    def check_option(self, targets: Sequence[str], name: str, value: Any) -> None:
        return None

    def dry_run(self, model: Path, options: Json) -> DryRun:
        if options["targets"][0] == "hang":
            time.sleep(600)
        if options["targets"][0] == "mistake":
            raise CollageError("no toolchain is called 'mistake'", "these are known: fast", "unknown_target")
        return DryRun(
            model=RunModel(name="tiny", hash="f" * 64, nodes=2, inputs=(), outputs=()),
            targets=(),
            builds_expected=57,
            builds_at_most=228,
            seconds_expected=21.5,
            seconds_at_most=40.0,
            after_expected_s=12.5,
            after_at_most_s=50.0,
            budget_s=options.get("budget_s", 40.0),
            tuning_s=options.get("tune_s") or 0.0,
            busy=BUSY if options["targets"][0] == "busy" else "",
            basis="fast: 0.4 s a trial",
        )

    def partition(self, model: Path, options: Json, out: Path, emit: Emit, should_stop: Callable[[], bool]) -> FakeRecord:
        run = Run(options, out, should_stop)
        emit(PhaseStarted("load"))
        emit(Note(f"{model.name} {sorted(options['shapes'])} {options.get('accuracy')} {options.get('time_limit_s')}"))
        emit(PhaseEnded("load", 0.1))
        return BEHAVIOURS[run.target](run, emit)

    def search_again(self, record: FakeRecord, terms: Terms, emit: Emit, own: FakeRecord | None = None) -> FakeRecord:
        emit(PhaseStarted("search"))
        named = [constraint.get("target") for constraint in terms.constraints]
        if "impossible" in named:
            last = [] if terms.switched_off else [len(named) - 1]
            off = list(terms.switched_off[-1:])
            raise InfeasibleError("no plan holds these", "drop one of them", conflict=[0, *last], switched_off=off, uncovered=[1])
        if "crash" in named:
            os.kill(os.getpid(), signal.SIGSEGV)
        emit(PlanImproved(0.007, (("fast", (0, 1)),), 0))
        if "dawdling" in named:  # pages see the plan before its costs
            time.sleep(DAWDLING_S)
        emit(PhaseEnded("search", 0.1))
        document = {**record.document, "verify": {"accuracy": 1e-3}, "plan": document_plan(0.007)}
        return replace(record, document=document, constraints=list(terms.listed))

    def measure_again(self, record: FakeRecord, model: Path, candidate: str, terms: Terms, emit: Emit) -> FakeRecord:
        emit(PhaseStarted("costs"))
        if candidate == "slow":
            time.sleep(600)
        if candidate == "nothing":
            raise CollageError(f"the run has no candidate {candidate!r}", "look again", "unknown_candidate")
        emit(CandidateCosted("fast", (candidate,), "Conv+Relu", {"seconds": 0.004, "source": "measured"}, False, 1, 1))
        return self.search_again(record, terms, emit)

    def decided(self, record: FakeRecord, model: Path, limit_s: float, terms: Terms, emit: Emit) -> FakeRecord:
        emit(PhaseStarted("costs"))
        emit(Note(f"measured for {limit_s:g} s"))
        return self.search_again(record, terms, emit)

    def own_run(self, record: FakeRecord, model: Path, given: AgainstRequest, emit: Emit) -> FakeRecord:
        emit(PhaseStarted("costs"))
        if given.text == "slow":
            time.sleep(600)
        if given.text == "wrong":
            raise CollageError(
                f"{given.name} cannot be timed end to end: it errs by 0.3", "its costs can be compared all the same", "own_plan"
            )
        beside = {"name": "the plan of the run", "kind": "search", "total_s": 0.01, "measured_s": 0.0105, "interval_s": 1e-4}
        row = {**beside, "rounds": 5, "reason": "", "is_plan": False, "partitions": [{"id": "c0", "target": "fast", "nodes": [0, 1]}]}
        verify = {**record.document["verify"], "measured_s": 0.0125}
        own = {"plan": document_plan(0.012), "decided_by": "given", "alternatives": [row], "verify": verify}
        return replace(record, document={**record.document, **own}, constraints=[])

    def with_described(self, record: FakeRecord, descriptions: Mapping[str, str], terms: Terms, emit: Emit) -> FakeRecord:
        return replace(record, targets=[*record.targets, *descriptions])

    def build(self, record: FakeRecord, model: Path, out: Path, form: str, emit: Emit) -> None:
        """Build a native artifact where any form is welcome, unless a constraint says that there are several toolchains."""
        if form == "auto":
            form = "pieces" if "several" in record.named else "native"
        if form == "native" and "several" in record.named:
            raise CollageError("the artifact cannot be native: its plan has 2 partitions", "ask for the form auto", "form")
        if "unbuildable" in record.named:
            raise CollageError("assembling the plan failed: no linker", "install one", "toolchain")
        emit(PhaseStarted("rewrite"))
        out.mkdir(parents=True, exist_ok=True)
        (out / "model.so").write_bytes(b"built of " + model.name.encode())
        (out / "artifact.json").write_text(json.dumps({"form": form}))
        emit(Verified(0.008, 1e-6, 1e-3))
        verify = {"measured_s": 0.008, "additive_error_s": 0.001, "max_rel_error": 1e-6, "reference": "fake", "accuracy": 1e-3}
        record.document["verify"] = {**verify, "apart": True}

    def load_record(self, folder: Path) -> FakeRecord:
        with gzip.open(folder / "run.json.gz", "rt") as file:
            data = json.load(file)
        return FakeRecord(**{name: data[name] for name in FakeRecord.__dataclass_fields__})

    def check_record(self, record: FakeRecord) -> None:
        return None

    def save_record(self, record: FakeRecord, folder: Path) -> None:
        fake_runs.save_record(record, folder)

    def outcome(self, record: FakeRecord) -> Outcome:
        return Outcome(
            document=from_json(RunDocument, record.document),
            machine="the fake machine",
            model=record.model,
            model_name="tiny",
            targets=record.targets,
            constraints=record.constraints,
            created="2026-01-02T03:04:05+00:00",
        )

    def plan(self, record: FakeRecord) -> Json:
        return fake_runs.plan_file(record)

    def graph(self, record: FakeRecord) -> Json:
        return {"nodes": [{"name": "a", "op": "Conv"}, {"name": "b", "op": "Relu"}]}

    def node_count(self, record: FakeRecord) -> int:
        return 2

    def ask(self, record: FakeRecord, question: Question[..., Q, A], request: Q, own: FakeRecord | None = None) -> A:
        terms = [Terms.of(request, record.targets)] if isinstance(request, WhatIfRequest) else []
        more = [] if own is None else [own]
        answer: A = getattr(self, f"_{question.name.replace('-', '_')}")(record, request, *terms, *more)
        return answer

    def _candidates(self, record: FakeRecord, asked: NodeRequest) -> NodeCandidates:
        cost = CostInfo(float("nan"), "measured")
        row = NodeCandidate("c0", "fast", "Conv+Relu", (0, 1), "fast.host", 2, cost, None, True, "", 0.0, 0.0, False, "predicted")
        bounded: dict[str, Any] = {"id": "c9", "target": "other", "label": "Relu", "nodes": (1,), "cost": CostInfo(0.02, **COST)}
        least = replace(row, **bounded, times=1, chosen=False, regret_s=None)
        return NodeCandidates(asked.node, (row, least), ())

    def candidate_table(self, record: FakeRecord) -> Json:
        return {**packed([]), "rejections": []}

    def _regrets(self, record: FakeRecord, asked: RegretRequest) -> RunRegrets:
        known = {"c0": (None, 0.25), "c9": (0.003, 0.003)}
        shown = [(name, *known[name]) for name in asked.candidates if name in known]
        return RunRegrets(tuple(CandidateRegret(name, exact, least, False, False, "predicted") for name, exact, least in shown))

    def _estimates(self, record: FakeRecord, asked: PlainRequest) -> RunEstimates:
        return RunEstimates("the fake machine", "none", {})

    def _node_times(self, record: FakeRecord, asked: PlainRequest) -> RunNodeTimes:
        groups = (NodeGroupTime((0, 1), 1.0, 0.01, "FusedConv"),)
        return RunNodeTimes((PartitionNodeTimes("c0", "profiler", groups, 0.0, 0.012),), {"fast": (0.008, None)})

    def _shapes(self, record: FakeRecord, asked: PlainRequest) -> RunShapes:
        return RunShapes()

    def _bodies(self, record: FakeRecord, asked: PlainRequest) -> RunBodies:
        return RunBodies(())

    def _rules(self, record: FakeRecord, asked: PlainRequest) -> RunRules:
        return RunRules(())

    def why_not_forms(self, record: FakeRecord) -> dict[str, str]:
        return {"native": "its plan has 2 partitions"} if "several" in record.named else {}

    def baseline_plan(self, record: FakeRecord, name: str) -> PlanInfo:
        return from_json(PlanInfo, document_plan(0.012))

    def _what_if(self, record: FakeRecord, asked: WhatIfRequest, terms: Terms, own: FakeRecord | None = None) -> PlanUnderTerms:
        """Find another plan than that of the run, unless the run holds the terms."""
        found = self.search_again(record, terms, lambda event: None)
        meant = own or record
        keeps = list(terms.listed) == meant.constraints
        plan = meant.document["plan"] if keeps else found.document["plan"]
        return PlanUnderTerms(
            from_json(PlanInfo, plan), True, 0 if terms.accuracy is None else 3, keeps, NO_CHANGE, "no change", "predicted 12 ms"
        )

    def _other_terms(self, record: FakeRecord, asked: WhatIfRequest, terms: Terms) -> OtherTerms:
        self.search_again(record, terms, lambda event: None)
        before = CostInfo(0.01, **COST)
        typed = (TypedCost(id, "fast", "Conv+Relu", (0, 1), seconds, before, 2) for id, seconds in terms.costs.items())
        return OtherTerms(
            0.01, changed(-0.003), "-3 ms predicted", "predicted 10 ms", None, tuple(typed), (TargetUnderTerms("fast", 2, 0, 0, 0.003),)
        )

    def _against(self, record: FakeRecord, asked: AgainstRequest) -> CostedPlan:
        unknown = (UnknownPart("c7", "other", (1,), ("b",), asked.text),)
        plan = from_json(PlanInfo, document_plan(0.012))
        return CostedPlan(asked.name, plan, time_of_plan(plan), -0.002, unknown, tuple(asked.devices))

    def _worth(self, record: FakeRecord, asked: PlainRequest) -> Worth:
        one = TargetSet(("fast",), ("fast",), 0.01, None, 1, True, NO_CHANGE, "predicted 10 ms")
        step = TargetStep(("fast",), 0.01, None, None, True, "fast: predicted 10 ms")
        return Worth((one,), (step,), ("fast",), "one target alone is best here: fast", True)

    def _totals(self, record: FakeRecord, asked: PlainRequest) -> RunTotals:
        return totals(from_json(RunDocument, record.document))

    def _undecided(self, record: FakeRecord, asked: PlainRequest) -> RunUndecided:
        if record.targets[0] != "undecided":
            return RunUndecided(0.01, None, True, (), (), (), 0.0)
        part = UndecidedPart("c0", "fast", (0, 1), ("Conv", "Relu"), 0.01, 1e-3)
        needs = DecisionNeeds(seconds=20.0, repetitions=8, computations=2, is_enough=True, is_assumed=False)
        rival = UndecidedRival((part,), (replace(part, id="c2", target="other"),), 1e-4, 6e-4, 5e-4, needs)
        row = StablePart(**asdict(part), stability=0.6, decided_by="cost", source="measured")
        return RunUndecided(0.01, None, True, (row,), ("c0",), (rival,), 20.0)

    def profile(self, artifact: Path) -> InsideTimes:
        return InsideTimes(0.013, 0.001, 0.01, 0.0, (InsideTime("c0", "fast", 2, "a", 1, 0.012, 0.01, 1e-4, 0.002),))

    def _effects(self, record: FakeRecord, asked: WhatIfRequest, terms: Terms) -> Effects:
        """Counts instead of costs; those of a constraint on ``late`` and all after it are late."""
        count = len(terms.constraints) + len(terms.switched_off) + len(terms.costs)

        def effect(taken_back: int) -> Effect:
            return Effect(changed(taken_back), changed(count - taken_back), count, f"costs {taken_back} s alone")

        late = [any(terms.constraints[index].get("target") == "late" for index in group) for group in asked.groups]
        if any(late):
            return Effects(tuple(effect(len(group)) for group in asked.groups[: late.index(True)]))
        off = {target: effect(1) for target in terms.switched_off}
        costs = {candidate: effect(1) for candidate in terms.costs}
        accuracy = None if terms.accuracy is None else effect(0)
        return Effects(tuple(effect(len(group)) for group in asked.groups), off, accuracy, costs)

    def trace(self, record: FakeRecord, file: Path, on_steps: Callable[[int], None]) -> None:
        """Write two chunks of two steps; in between, do what the constraints name."""
        with TraceWriter(file) as writer:
            writer.add({"first": 0, "kinds": "bt"})
            on_steps(2)
            if "untraceable" in record.named:
                raise CollageError("the searcher 'old' is not known here", "trace it with the version that made it", "unknown_search")
            if "deadly" in record.named:
                os.kill(os.getpid(), signal.SIGSEGV)
            while "slow" in record.named and not (file.parent / "go").exists():
                time.sleep(0.01)
            writer.add({"first": 2, "kinds": "pe"})
            about = {"steps": 4, "chunk_steps": 2, "bound_bytes": 9, "is_thinned": False, "nodes": 2, "seconds": 0.1}
            result = {"algorithm": "astar", "optimal": True, "stopped": False, "total_s": 0.01, "lower_bound_s": 0.01}
            counts = {"states": 1, "transitions": 1, "seconds": 0.1}
            before = {"taken": 0, "found": 0, "improved": 0, "refused": 0, "best_s": None}
            walk = {"title": "the search", "is_again": False, "first": 0, "candidates": 1, "before": before, "bound_s": None}
            walks = [{**walk, "result": None}, {**walk, "is_again": True, "result": {**result, **counts}}]
            writer.finish({**about, "reasons": ["overlaps"], "searches": walks})
