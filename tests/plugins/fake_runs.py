"""`BEHAVIOURS`: the runs of `FakeEngine`, each by the name of its first target: they emit events, write a record, wait, crash or hang."""

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
from functools import partial
from pathlib import Path

from collage_core.documents.json_form import from_json
from collage_core.documents.plan import MeasuredPlan
from collage_core.documents.verify import Verify
from collage_core.errors import CollageError, InfeasibleError
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
    PlanDecided,
    PlanImproved,
    SearchProgress,
    TargetAlone,
    Verified,
)
from collage_server.worker.engine import Json

FLOOD, BURST = 100_000, 20_000
PLAN_EVERY = 1000
PARTITION = {
    "id": "c0",
    "nodes": [0, 1],
    "names": ["a", "b"],
    "ops": ["Conv", "Relu"],
    "spread_s": 1e-4,
    "interval_s": 1e-4,
    "samples": 9,
    "source": "measured",
    "stability": None,
    "decided_by": "cost",
    "tuned": None,
}

SEARCH = {
    "algorithm": "fake",
    "optimal": True,
    "gap_s": 0.0,
    "stopped": False,
    "total_s": 0.01,
    "states": 3,
    "transitions": 5,
    "seconds": 0.1,
    "lower_bound_s": 0.01,
}


@dataclass(frozen=True)
class Run:
    """The arguments of a behaviour: the options of a run, the folder of its files, and whether it is to end with its best plan."""

    options: Json
    out: Path
    should_stop: Callable[[], bool]

    @property
    def target(self) -> str:
        return str(self.options["targets"][0])


@dataclass
class FakeRecord:
    document: Json
    targets: list[str]
    constraints: list[Json]
    model: str

    @property
    def named(self) -> set[str | None]:
        """The targets that the constraints name."""
        return {constraint.get("target") for constraint in self.constraints}


def _fast(run: Run, emit: Emit) -> FakeRecord:
    first, cost = run.target, {"seconds": 0.01, "source": "measured"}
    emit(CandidatesFound(first, 3, 2, 1))
    emit(CandidateBuilding(first, "c0", "Conv+Relu", (0, 1), 0, 2))
    emit(CandidateCosted(first, ("c0",), "Conv+Relu", cost, False, 1, 2))
    emit(CandidateCosted(first, ("c1",), "Relu", {"seconds": None, "source": "invalid"}, False, 2, 2))
    emit(SearchProgress(10, 20, 3, 1, 2, 0.009, float("inf")))
    emit(PlanImproved(0.01, ((first, (0, 1)),), 0))
    emit(Verified(0.011, 1e-7, 1e-3))
    emit(BaselineMeasured(first, 0.012, 0.013))
    emit(PlanDecided("sum", "search", 0.011, (MeasuredPlan(first, "baseline", 0.012, 0.013, 0.0001, 5, "", False, 1),)))
    record = _record(run)
    _write(run.out, record)
    return record


def _undecided(run: Run, emit: Emit) -> FakeRecord:
    """A run whose budget left open which of two targets takes both nodes."""
    record = _fast(run, emit)
    rival = {
        "partitions": [PARTITION["id"]],
        "instead": [{"id": "c2", "target": "other", "nodes": [0, 1]}],
        "above_s": 1e-4,
        "could_gain_s": 5e-4,
    }
    record.document["budget"] = {"limit_s": 20.0, "spent_s": 20.4, "undecided": [PARTITION["id"]], "rivals": [rival]}
    _write(run.out, record)
    return record


def _gap(run: Run, emit: Emit) -> FakeRecord:
    """A run whose plan takes thrice the time that was predicted."""
    record = _fast(run, emit)
    record.document["verify"] |= {"measured_s": 0.03, "gap": "timed end to end, the plan takes 30 ms; 10 ms were predicted"}
    _write(run.out, record)
    return record


def _stoppable(run: Run, emit: Emit) -> FakeRecord:
    """A run that merges for ever once it has a plan, and keeps that when its user stops it."""
    emit(PhaseStarted("merge"))
    emit(PlanImproved(0.01, ((run.target, (0, 1)),), 0))
    while not run.should_stop():
        time.sleep(0.01)
    record = _record(run)
    record.document["verify"] = {
        "measured_s": None,
        "max_rel_error": None,
        "accuracy": 1e-3,
        "reason": "not built, since the run was cancelled",
    }
    missing = ["3 of 9 candidates have no known cost", "the plan was not built, and not compared with the reference"]
    record.document["cancelled"] = {"phase": "merge", "missing": missing}
    _write(run.out, record)
    (run.out / "model.so").unlink()
    return record


def _deaf(run: Run, emit: Emit) -> FakeRecord:
    emit(PlanImproved(0.01, ((run.target, (0, 1)),), 0))
    time.sleep(600)
    raise AssertionError


def _wait(run: Run, emit: Emit) -> FakeRecord:
    """Goes on when somebody puts a file there."""
    while not (run.out.parent / "go").exists():
        time.sleep(0.01)
    return _fast(run, emit)


def _stages(run: Run, emit: Emit) -> FakeRecord:
    """A run over a model of six nodes that goes on, stage by stage, when somebody puts a file there."""
    first, cost = run.target, {"seconds": 4e-4, "source": "measured", "stage": "", "reason": ""}

    def until(name: str) -> None:
        while not (run.out.parent / name).exists():
            time.sleep(0.01)

    emit(PhaseStarted("candidates"))
    emit(CandidatesFound(first, 9, 7, 2))
    emit(PhaseEnded("candidates", 0.25))
    emit(PhaseStarted("costs"))
    emit(PlanConsidered(5e-4, None, ((first, (0, 1), False), (first, (2, 5), False))))
    emit(CandidateBuilding(first, "c0", "Conv+Relu", (0, 1), 0, 4))
    until("go1")
    emit(CandidateCosted(first, ("c0",), "Conv+Relu", cost, False, 1, 4, 1.9, 400.0))
    emit(TargetAlone(first, 6, 6, 9e-4, 1e-5))
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
    emit(SearchProgress(1200, 5000, 70, 2, 6, 7e-4, 9e-4, ((first, (0, 1)),)))
    until("go3")
    emit(PhaseEnded("search", 1.0))
    return _fast(run, emit)


def _hang(run: Run, emit: Emit) -> FakeRecord:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    _write(run.out, _record(run))
    emit(Note(f"child {child.pid}"))
    time.sleep(600)
    raise AssertionError


def _crash(run: Run, emit: Emit) -> FakeRecord:
    emit(Note("about to crash"))
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def _exit(run: Run, emit: Emit) -> FakeRecord:
    print("cannot allocate a grain of sand", file=sys.stderr)
    os._exit(3)


def _fault(run: Run, emit: Emit) -> FakeRecord:
    raise RuntimeError("a wheel came off")


def _mistake(run: Run, emit: Emit) -> FakeRecord:
    raise CollageError("no toolchain is called 'mistake'", "these are known: fast", "unknown_target")


def _infeasible(run: Run, emit: Emit) -> FakeRecord:
    raise InfeasibleError("no plan covers the model", "add a target", uncovered=[1])


def _wrong(run: Run, emit: Emit) -> FakeRecord:
    from collage_core.pipeline.apply import check_accuracy  # it imports what builds, and the server itself must not

    record = _record(run)
    begins = {"tensor": "x", "node": "a", "op": "Relu", "input_error": 0.0, "error": 0.25}
    nearest = {"target": "fast", "error": 0.25, "accuracy": 0.25, "begins": begins, "errors": {"fast": 0.25}}
    errors = {"x": 0.5, "y": math.inf}
    verify = {"measured_s": 0.01, "max_rel_error": math.inf, "accuracy": 1e-3, "errors": errors, "nearest": nearest}
    record.document["verify"] = verify
    _write(run.out, record)
    (run.out / "model.so").unlink()
    check_accuracy(from_json(Verify, verify), 1e-3)
    return record


def _states(count: int, run: Run, emit: Emit) -> FakeRecord:
    for number in range(1, count + 1):
        placed = ((run.target, (0, number % 2)),)
        emit(SearchProgress(number, number, 1, 1 + number % 2, 2, 0.001, None, placed))
        if number % PLAN_EVERY == 0:
            emit(PlanImproved(1.0 / number, ((run.target, (0, 1)),), number))
    return _fast(run, emit)


BEHAVIOURS: dict[str, Callable[[Run, Emit], FakeRecord]] = {
    "fast": _fast,
    "undecided": _undecided,
    "gap": _gap,
    "stoppable": _stoppable,
    "deaf": _deaf,
    "wait": _wait,
    "stages": _stages,
    "hang": _hang,
    "crash": _crash,
    "exit": _exit,
    "fault": _fault,
    "mistake": _mistake,
    "infeasible": _infeasible,
    "wrong": _wrong,
    "flood": partial(_states, FLOOD),
    "burst": partial(_states, BURST),
}


def _write(out: Path, record: FakeRecord) -> None:
    out.mkdir(parents=True, exist_ok=True)
    save_record(record, out)
    (out / "model.so").write_bytes(b"a library")


def save_record(record: FakeRecord, folder: Path) -> None:
    """Write the record and the plan of a run into `folder`."""
    with gzip.open(folder / "run.json.gz", "wt") as file:
        json.dump(vars(record), file)
    (folder / "plan.json").write_text(json.dumps(plan_file(record)))


def plan_file(record: FakeRecord) -> Json:
    """Return what the plan file of `record` holds."""
    targets = [{"name": target, "version": "1.0"} for target in record.targets]
    return {"schema": 1, "targets": targets, "constraints": record.constraints}


def _record(run: Run) -> FakeRecord:
    counts = {"candidates": 3, "invalid": 1, "unique": 2, "measured": 1, "cache_hits": 0}
    document = {
        "schema": 1,
        "targets": [{"name": target, **counts} for target in run.options["targets"]],
        "model": {"name": "tiny", "hash": "f" * 64, "nodes": 2, "inputs": [], "outputs": []},
        "phases": {},
        "search": {**SEARCH, "final": SEARCH},
        "plan": document_plan(0.01),
        "budget": None,
        "bodies": [],
        "cancelled": None,
        "baselines": [{"name": run.target, "total_s": 0.012, "measured_s": 0.013, "reason": ""}],
        "decided_by": "sum",
        "alternatives": [
            {
                "name": run.target,
                "kind": "baseline",
                "total_s": 0.012,
                "measured_s": 0.013,
                "interval_s": 0.0001,
                "rounds": 5,
                "reason": "",
                "is_plan": False,
                "partitions": [{"id": "c1", "target": run.target, "nodes": [0, 1]}],
            }
        ],
        "verify": {"measured_s": 0.011, "additive_error_s": 0.001, "max_rel_error": 1e-7, "reference": "fake", "accuracy": 1e-3},
    }
    return FakeRecord(document, list(run.options["targets"]), list(run.options["constraints"]), "f" * 64)


def document_plan(total_s: float) -> Json:
    move = {"from": "host", "to": "fast", "tensor": "x", "bytes": 12, "cost_s": 0.0}
    return {"total_s": total_s, "partitions": [{**PARTITION, "target": "fast", "cost_s": total_s}], "transitions": [move]}
