"""A pipeline that does nothing but what the first target's name says: `ServerConfig.pipeline` names it in the tests.

It has what `server.job` calls of `collage_core.pipeline.run`, and is imported in the run's own process.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from collage_core.errors import AccuracyError, CollageError, InfeasibleError
from collage_core.events import (
    BaselineMeasured,
    CandidateBuilding,
    CandidateCosted,
    CandidatesFound,
    Emit,
    Note,
    PhaseEnded,
    PhaseStarted,
    PlanConsidered,
    PlanImproved,
    SearchProgress,
    Verified,
)
from collage_core.trace.trace_file import TraceWriter

FLOOD = 100_000
FLOOD_PLANS = 100
PARTITION = {
    "id": "c0",
    "nodes": [0, 1],
    "names": ["a", "b"],
    "ops": ["Conv", "Relu"],
    "spread_s": 1e-4,
    "interval_s": 1e-4,
    "samples": 9,
    "source": "measured",
}


@dataclass(frozen=True)
class Options:
    targets: tuple[str, ...]
    costs: str
    constraints: tuple[dict[str, Any], ...]
    shapes: dict[str, tuple[int, ...]]
    accuracy: float | None
    time_limit_s: float | None
    out: Path


@dataclass
class RunRecord:
    document: dict[str, Any]
    plan: SimpleNamespace
    machine: str = "the fake machine"
    created: str = "2026-01-02T03:04:05+00:00"
    graph: tuple[str, ...] = ("a", "b")

    def save(self, folder: Path) -> None:
        about = {
            "targets": [target.name for target in self.plan.targets],
            "constraints": self.plan.constraints,
            "hash": self.plan.model.hash,
        }
        with gzip.open(folder / "run.json.gz", "wt") as file:
            json.dump({"document": self.document, **about}, file)
        (folder / "plan.json").write_text(json.dumps({"schema": 1, "constraints": self.plan.constraints}))

    @classmethod
    def load(cls, folder: Path) -> RunRecord:
        with gzip.open(folder / "run.json.gz", "rt") as file:
            data = json.load(file)
        return cls(data["document"], _plan(data["targets"], data["constraints"], data["hash"]))

    def regrets_of(self, wanted: set[str]) -> list[dict[str, Any]]:
        return [{"id": name, "regret_s": None, "regret_at_least_s": 0.25, "in_no_plan": False} for name in wanted & {"c0"}]

    def node_candidates(self, node: int) -> dict[str, Any]:
        cost = {"seconds": float("nan"), "source": "measured"}
        row = {"id": "c0", "target": "fast", "label": "Conv+Relu", "nodes": [0, 1], "rule": "fast.host", "cost": cost}
        found = {"times": 2, "supposed": None, "chosen": True, "regret_s": 0.0, "regret_at_least_s": 0.0}
        return {"node": node, "candidates": [{**row, **found}], "rejections": []}


def partition(source: Path, options: Options, emit: Emit) -> RunRecord:
    emit(PhaseStarted("load"))
    emit(Note(f"{source.name} {sorted(options.shapes)} {options.accuracy} {options.time_limit_s}"))
    emit(PhaseEnded("load", 0.1))
    return BEHAVIOURS[options.targets[0]](options, emit)


@dataclass(frozen=True)
class Terms:
    constraints: list[dict[str, Any]]
    accuracy: float | None = None


@dataclass(frozen=True)
class Term:
    alone: Terms
    others: Terms


@dataclass(frozen=True)
class Effect:
    alone_s: float | None
    saves_s: float | None
    refuses: int


def what_if(record: RunRecord, terms: Terms) -> dict[str, Any]:
    found = search_again(record, terms.constraints, lambda event: None, terms.accuracy)
    return {"plan": found.document["plan"], "optimal": True, "untimed": 0 if terms.accuracy is None else 3}


def effects(record: RunRecord, everything: Terms, terms: list[Term]) -> list[Effect]:
    """Counts instead of costs; those of a constraint on ``late`` and all after it are late."""
    made = []
    for term in terms:
        if any(item.get("target") == "late" for item in term.alone.constraints):
            break
        made.append(Effect(float(len(term.alone.constraints)), float(len(term.others.constraints)), len(everything.constraints)))
    return made


def search_again(record: RunRecord, constraints: list[dict[str, Any]], emit: Emit, accuracy: float | None = None) -> RunRecord:
    emit(PhaseStarted("search"))
    if any(constraint.get("target") == "impossible" for constraint in constraints):
        raise InfeasibleError("no plan holds these constraints", "drop one of them", conflict=[0, len(constraints) - 1], uncovered=[1])
    if any(constraint.get("target") == "crash" for constraint in constraints):
        os.kill(os.getpid(), signal.SIGSEGV)
    emit(PlanImproved(0.007, (("fast", (0, 1)),), 0))
    document = {**record.document, "verify": None, "plan": _document_plan(0.007)}
    return RunRecord(document, _plan([target.name for target in record.plan.targets], constraints, record.plan.model.hash))


def measure_again(
    record: RunRecord, source: Path, candidate: str, emit: Emit, constraints: list[dict[str, Any]], accuracy: float | None
) -> RunRecord:
    emit(PhaseStarted("costs"))
    if candidate == "slow":
        time.sleep(600)
    if candidate == "nothing":
        raise CollageError(f"the run has no candidate {candidate!r}", "look again", "unknown_candidate")
    emit(CandidateCosted("fast", (candidate,), "Conv+Relu", {"seconds": 0.004, "source": "measured"}, False, 1, 1))
    return search_again(record, constraints, emit, accuracy)


def apply(plan: SimpleNamespace, source: Path, out: Path, emit: Emit) -> dict[str, Any]:
    if any(constraint.get("target") == "unbuildable" for constraint in plan.constraints):
        raise CollageError("assembling the plan failed: no linker", "install one", "toolchain")
    emit(PhaseStarted("rewrite"))
    out.mkdir(parents=True, exist_ok=True)
    (out / "model.so").write_bytes(b"built of " + source.name.encode())
    emit(Verified(0.008, 1e-6, 1e-3))
    return {"measured_s": 0.008, "additive_error_s": 0.001, "max_rel_error": 1e-6, "reference": "fake", "accuracy": 1e-3}


def trace(record: RunRecord, file: Path, told: Callable[[int], None]) -> None:
    """Two chunks of two steps; what the constraints name happens in between."""
    with TraceWriter(file) as writer:
        writer.add({"first": 0, "kinds": "bt"})
        told(2)
        names = {constraint.get("target") for constraint in record.plan.constraints}
        if "untraceable" in names:
            raise CollageError("the searcher 'old' is not known here", "trace it with the version that made it", "unknown_search")
        if "deadly" in names:
            os.kill(os.getpid(), signal.SIGSEGV)
        while "slow" in names and not (file.parent / "go").exists():
            time.sleep(0.01)
        writer.add({"first": 2, "kinds": "pe"})
        about = {"steps": 4, "chunk_steps": 2, "bound_bytes": 9, "is_thinned": False, "nodes": 2, "seconds": 0.1, "reasons": ["overlaps"]}
        result = {"algorithm": "astar", "optimal": True, "stopped": False, "total_s": 0.01, "lower_bound_s": 0.01}
        counts = {"states": 1, "transitions": 1, "seconds": 0.1}
        before = {"taken": 0, "found": 0, "improved": 0, "refused": 0, "best_s": None}
        walk = {"title": "the search", "is_again": False, "first": 0, "candidates": 1, "before": before, "bound_s": None}
        writer.finish({**about, "searches": [{**walk, "result": None}, {**walk, "is_again": True, "result": {**result, **counts}}]})


def _fast(options: Options, emit: Emit) -> RunRecord:
    first, cost = options.targets[0], {"seconds": 0.01, "source": "measured"}
    emit(CandidatesFound(first, 3, 2, 1))
    emit(CandidateBuilding(first, "c0", "Conv+Relu", (0, 1), 0, 2))
    emit(CandidateCosted(first, ("c0",), "Conv+Relu", cost, False, 1, 2))
    emit(CandidateCosted(first, ("c1",), "Relu", {"seconds": None, "source": "invalid"}, False, 2, 2))
    emit(SearchProgress(10, 20, 3, 1, 2, 0.009, float("inf")))
    emit(PlanImproved(0.01, ((first, (0, 1)),), 0))
    emit(Verified(0.011, 1e-7, 1e-3))
    emit(BaselineMeasured(first, 0.012, 0.013))
    record = _record(options)
    _write(options.out, record)
    return record


def _wait(options: Options, emit: Emit) -> RunRecord:
    """Goes on when somebody puts a file there."""
    while not (options.out.parent / "go").exists():
        time.sleep(0.01)
    return _fast(options, emit)


def _stages(options: Options, emit: Emit) -> RunRecord:
    """A run over a model of six nodes that goes on, stage by stage, when somebody puts a file there."""
    first, cost = options.targets[0], {"seconds": 4e-4, "source": "measured", "stage": "", "reason": ""}

    def until(name: str) -> None:
        while not (options.out.parent / name).exists():
            time.sleep(0.01)

    emit(PhaseStarted("candidates"))
    emit(CandidatesFound(first, 9, 7, 2))
    emit(PhaseEnded("candidates", 0.25))
    emit(PhaseStarted("costs"))
    emit(PlanConsidered(5e-4, None, ((first, (0, 1), False), (first, (2, 5), False))))
    emit(CandidateBuilding(first, "c0", "Conv+Relu", (0, 1), 0, 4))
    until("go1")
    emit(CandidateCosted(first, ("c0",), "Conv+Relu", cost, False, 1, 4, 1.9, 400.0))
    emit(PlanConsidered(6e-4, 9e-4, ((first, (0, 1), True), (first, (2, 5), False))))
    emit(CandidateBuilding(first, "c1", "MaxPool+Reshape+MatMul+Add", (2, 5), 1, 4, 400.0))
    until("go2")
    emit(
        CandidateCosted(
            first,
            ("c1",),
            "MaxPool",
            {**cost, "seconds": None, "source": "invalid", "stage": "build", "reason": "no linker"},
            False,
            2,
            4,
            0.5,
        )
    )
    emit(PhaseEnded("costs", 3.5))
    emit(PhaseStarted("search"))
    emit(SearchProgress(1200, 5000, 70, 2, 6, 7e-4, 9e-4))
    until("go3")
    emit(PhaseEnded("search", 1.0))
    return _fast(options, emit)


def _hang(options: Options, emit: Emit) -> RunRecord:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    _write(options.out, _record(options))
    emit(Note(f"child {child.pid}"))
    time.sleep(600)
    raise AssertionError


def _crash(options: Options, emit: Emit) -> RunRecord:
    emit(Note("about to crash"))
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def _exit(options: Options, emit: Emit) -> RunRecord:
    print("cannot allocate a grain of sand", file=sys.stderr)
    os._exit(3)


def _fault(options: Options, emit: Emit) -> RunRecord:
    raise RuntimeError("a wheel came off")


def _mistake(options: Options, emit: Emit) -> RunRecord:
    raise CollageError("no toolchain is called 'mistake'", "these are known: fast", "unknown_target")


def _infeasible(options: Options, emit: Emit) -> RunRecord:
    raise InfeasibleError("no plan covers the model", "add a target", uncovered=[1])


def _wrong(options: Options, emit: Emit) -> RunRecord:
    record = _record(options)
    record.document["verify"] = {"measured_s": 0.01, "max_rel_error": math.inf, "accuracy": 1e-3, "errors": {"x": 0.5, "y": math.inf}}
    _write(options.out, record)
    (options.out / "model.so").unlink()
    raise AccuracyError("the partitioned model is wrong", "allow more")


def _flood(options: Options, emit: Emit) -> RunRecord:
    for number in range(1, FLOOD + 1):
        emit(SearchProgress(number, number, 1, 1, 2, 0.001, None))
        if number % (FLOOD // FLOOD_PLANS) == 0:
            emit(PlanImproved(1.0 / number, ((options.targets[0], (0, 1)),), number))
    return _fast(options, emit)


BEHAVIOURS: dict[str, Callable[[Options, Emit], RunRecord]] = {
    "fast": _fast,
    "wait": _wait,
    "stages": _stages,
    "hang": _hang,
    "crash": _crash,
    "exit": _exit,
    "fault": _fault,
    "mistake": _mistake,
    "infeasible": _infeasible,
    "wrong": _wrong,
    "flood": _flood,
}


def _write(out: Path, record: RunRecord) -> None:
    out.mkdir(parents=True, exist_ok=True)
    record.save(out)
    (out / "model.so").write_bytes(b"a library")


def _record(options: Options) -> RunRecord:
    counts = {"candidates": 3, "invalid": 1, "unique": 2, "measured": 1, "cache_hits": 0}
    document = {
        "schema": 1,
        "targets": [{"name": target, **counts} for target in options.targets],
        "search": {"optimal": True, "lower_bound_s": 0.01},
        "plan": _document_plan(0.01),
        "baselines": [{"name": options.targets[0], "total_s": 0.012, "measured_s": 0.013, "reason": ""}],
        "verify": {"measured_s": 0.011, "additive_error_s": 0.001, "max_rel_error": 1e-7, "reference": "fake", "accuracy": 1e-3},
    }
    return RunRecord(document, _plan(options.targets, list(options.constraints), "f" * 64))


def _document_plan(total_s: float) -> dict[str, Any]:
    move = {"from": "host", "to": "fast", "tensor": "x", "bytes": 12, "cost_s": 0.0}
    return {"total_s": total_s, "partitions": [{**PARTITION, "target": "fast", "cost_s": total_s}], "transitions": [move]}


def _plan(targets: Any, constraints: list[dict[str, Any]], model: str) -> SimpleNamespace:
    named = [SimpleNamespace(name=target) for target in targets]
    return SimpleNamespace(model=SimpleNamespace(hash=model, name="tiny"), targets=named, constraints=constraints)
