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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fake_runs
from fake_runs import BEHAVIOURS, FakeRecord, Run, document_plan

from collage_core.documents.json_form import from_json
from collage_core.documents.run import RunDocument
from collage_core.errors import CollageError, InfeasibleError
from collage_core.events import CandidateCosted, Emit, Note, PhaseEnded, PhaseStarted, PlanImproved, Verified
from collage_core.trace.trace_file import TraceWriter
from collage_core.what_if.terms import Terms
from collage_server.worker.candidate_table import packed
from collage_server.worker.engine import CollageEngine, Engine, Json, Outcome

if TYPE_CHECKING:
    from collage_core.what_if.what_if import Effect, Effects

BUSY = "other processes keep 1.8 of the 2 cores busy"
COST = {"source": "measured", "samples": 9, "spread_s": 1e-4, "interval_s": 1e-4, "stage": "", "reason": ""}
DAWDLING_S = 1.5


class FakeEngine(Engine[FakeRecord]):
    imports = CollageEngine.imports

    def check_option(self, targets: Sequence[str], name: str, value: Any) -> None:
        return None

    def dry_run(self, model: Path, options: Json) -> Json:
        if options["targets"][0] == "hang":
            time.sleep(600)
        if options["targets"][0] == "mistake":
            raise CollageError("no toolchain is called 'mistake'", "these are known: fast", "unknown_target")
        builds, seconds = {"builds_expected": 57, "builds_at_most": 228}, {"seconds_expected": 21.5, "seconds_at_most": 40.0}
        after, busy = {"after_expected_s": 12.5, "after_at_most_s": 50.0}, BUSY if options["targets"][0] == "busy" else ""
        limits = {"budget_s": options.get("budget_s", 40.0), "tuning_s": options.get("tune_s") or 0.0}
        told = {**builds, **seconds, **after, **limits, "busy": busy, "basis": "fast: 0.4 s a trial"}
        return {**told, "more": 1}

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

    def own_run(self, record: FakeRecord, model: Path, text: str, name: str, devices: Mapping[str, str], emit: Emit) -> FakeRecord:
        emit(PhaseStarted("costs"))
        if text == "slow":
            time.sleep(600)
        if text == "wrong":
            raise CollageError(f"{name} cannot be measured whole: it errs by 0.3", "its costs can be compared all the same", "own_plan")
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

    def node_candidates(self, record: FakeRecord, node: int) -> Json:
        cost = {"seconds": float("nan"), "source": "measured"}
        row = {"id": "c0", "target": "fast", "label": "Conv+Relu", "nodes": [0, 1], "rule": "fast.host", "cost": cost}
        found = {"times": 2, "estimate_basis": None, "chosen": True, "regret_s": 0.0, "regret_at_least_s": 0.0, "rests_on_unknown": False}
        bounded = {**row, "id": "c9", "target": "other", "label": "Relu", "nodes": [1], "cost": {**COST, "seconds": 0.02}}
        least = {"times": 1, "estimate_basis": None, "chosen": False, "over_budget": "", "regret_s": None, "regret_at_least_s": 0.0}
        least |= {"rests_on_unknown": False}
        return {"node": node, "candidates": [{**row, **found}, {**bounded, **least}], "rejections": []}

    def candidate_table(self, record: FakeRecord) -> Json:
        return {**packed([]), "rejections": []}

    def regrets(self, record: FakeRecord, candidates: Sequence[str]) -> list[Json]:
        known = {"c0": (None, 0.25), "c9": (0.003, 0.003)}
        shown = [(name, *known[name]) for name in candidates if name in known]
        flags = {"rests_on_unknown": False, "in_no_plan": False}
        return [{"id": name, "regret_s": exact, "regret_at_least_s": least, **flags} for name, exact, least in shown]

    def estimates(self, record: FakeRecord) -> Json:
        return {"machine": "the fake machine", "reason": "none", "seconds": {}}

    def node_times(self, record: FakeRecord) -> Json:
        groups = [{"nodes": [0, 1], "share": 1.0, "seconds": 0.01, "kernel": "FusedConv"}]
        times = {"partition": "c0", "source": "profiler", "groups": groups, "rest_share": 0.0, "profiled_s": 0.012, "reason": ""}
        return {"partitions": [times], "alone_s": {"fast": [0.008, None]}}

    def shapes(self, record: FakeRecord) -> Json:
        answer = {"total_s": None, "measured_s": None, "reason": ""}
        return {"shapes": [], "shown": 0, "one_plan": answer, "by_range": answer, "crossovers": [], "chosen": "", "decided_by": ""}

    def bodies(self, record: FakeRecord) -> list[Json]:
        return []

    def specs(self, record: FakeRecord) -> list[Json]:
        return []

    def why_not_forms(self, record: FakeRecord) -> dict[str, str]:
        return {"native": "its plan has 2 partitions"} if "several" in record.named else {}

    def baseline_plan(self, record: FakeRecord, name: str) -> Json:
        return document_plan(0.012)

    def what_if(self, record: FakeRecord, terms: Terms, own: FakeRecord | None = None) -> Json:
        """Find another plan than that of the run, unless the run holds the terms."""
        found = self.search_again(record, terms, lambda event: None)
        asked = own or record
        keeps = list(terms.listed) == asked.constraints
        plan = asked.document["plan"] if keeps else found.document["plan"]
        return {"plan": plan, "optimal": True, "untimed": 0 if terms.accuracy is None else 3, "keeps_plan": keeps}

    def other_terms(self, record: FakeRecord, terms: Terms) -> Json:
        found = {**self.what_if(record, terms), "total_s": 0.01, "difference_s": -0.003, "kept_s": None}
        rows = [{"target": "fast", "nodes": 2, "nodes_before": 0, "untimed": 0, "brings_s": 0.003}]
        same = {"target": "fast", "label": "Conv+Relu", "nodes": [0, 1], "before": {**COST, "seconds": 0.01}, "equal": 2}
        return {**found, "typed": [{"id": id, "seconds": seconds, **same} for id, seconds in terms.costs.items()], "targets": rows}

    def against(self, record: FakeRecord, text: str, name: str, devices: Mapping[str, str]) -> Json:
        unknown = [{"id": "c7", "target": "other", "nodes": [1], "names": ["b"], "reason": text}]
        return {"name": name, "plan": document_plan(0.012), "apparent_loss_s": -0.002, "unknown": unknown, "ignored": list(devices)}

    def worth(self, record: FakeRecord) -> Json:
        one = {"targets": ["fast"], "total_s": 0.01, "is_known": True}
        return {
            "sets": [{**one, "used": ["fast"], "partitions": 1}],
            "steps": [{**one, "gain_s": None}],
            "as_good": ["fast"],
            "is_whole": True,
        }

    def undecided(self, record: FakeRecord) -> Json:
        total = {"total_s": 0.01, "total_interval_s": None, "is_measured": True}
        if record.targets[0] != "undecided":
            return {**total, "partitions": [], "toss_ups": [], "rivals": [], "seconds": 0.0}
        part = {"id": "c0", "target": "fast", "nodes": [0, 1], "ops": ["Conv", "Relu"], "cost_s": 0.01, "interval_s": 1e-3}
        needs = {"seconds": 20.0, "repetitions": 8, "computations": 2, "is_enough": True, "is_assumed": False}
        sides = {
            "plan": [part],
            "instead": [{**part, "id": "c2", "target": "other"}],
            "above_s": 1e-4,
            "width_s": 6e-4,
            "could_gain_s": 5e-4,
        }
        row = {**part, "stability": 0.6, "decided_by": "cost", "source": "measured"}
        return {**total, "partitions": [row], "toss_ups": ["c0"], "rivals": [{**sides, "needs": needs}], "seconds": 20.0}

    def profile(self, artifact: Path) -> Json:
        one = {"target": "fast", "nodes": 2, "first": "a", "partitions": 1, "interval_s": 1e-4}
        rows = [{"id": "c0", **one, "seconds": 0.012, "predicted_s": 0.01, "difference_s": 0.002}]
        return {"whole_s": 0.013, "rest_s": 0.001, "predicted_s": 0.01, "predicted_between_s": 0.0, "partitions": rows}

    def effects(self, record: FakeRecord, terms: Terms, groups: Sequence[Sequence[int]]) -> Effects:
        """Counts instead of costs; those of a constraint on ``late`` and all after it are late."""
        from collage_core.what_if.what_if import Effect, Effects

        count = len(terms.constraints) + len(terms.switched_off) + len(terms.costs)

        def effect(taken_back: int) -> Effect:
            return Effect(float(taken_back), float(count - taken_back), count)

        late = [any(terms.constraints[index].get("target") == "late" for index in group) for group in groups]
        if any(late):
            return Effects([effect(len(group)) for group in groups[: late.index(True)]])
        off = {target: effect(1) for target in terms.switched_off}
        costs = {candidate: effect(1) for candidate in terms.costs}
        return Effects([effect(len(group)) for group in groups], off, None if terms.accuracy is None else effect(0), costs)

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
