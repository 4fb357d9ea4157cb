"""`collage partition` as a user runs it, and what is left of it: the facts for tables, and files beside which everything is measured.

A case of the suite enters; its prepared files, and the facts of a run, leave. Used by `bench_e2e` and `acceptance`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from fresh_process import ALONE, MIX, Measurement, measure
from suite import TOOLCHAINS, Case

from collage_core.documents.plan import PlanPartition
from collage_core.model.files.loading import read_model
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import default_accuracy, largest_error
from collage_core.model.samples.registry import resolve
from collage_core.model.shapes.shapes import fix_shapes
from collage_core.pipeline.whole.finalists import BASELINE
from collage_core.rewrite.plan import Plan

COLLAGE = Path(sys.executable).with_name("collage")
LIMIT_S = 900.0
"""After so long a run is ended."""

FULL_PRECISION = ("model", "float32")


@dataclass(frozen=True)
class Subject:
    """A case with the files that every process reads.

    Attributes:
        model: The model file, its input shapes fixed, otherwise as it came.
        inputs: Seeded inputs.
        reference: What the model makes of them.
        nodes: How many are placed.
        accuracy: The accuracy that its plan needs.
    """

    case: Case
    model: Path
    inputs: Path
    reference: Mapping[str, np.ndarray]
    nodes: int
    accuracy: float

    def contenders(self, folder: Path, artifact: Path, threads: int, alone: Sequence[str] = ALONE) -> dict[str, Callable[[], Measurement]]:
        """Return what measures `artifact` and the toolchains `alone`, by kind; each writes its outputs into `folder`."""
        paths = {MIX: artifact} | dict.fromkeys(alone, self.model)
        return {kind: partial(measure, kind, path, threads, self.inputs, folder / f"{kind}.npz") for kind, path in paths.items()}

    def beside(self, artifacts: Mapping[str, Path], threads: int) -> dict[str, Callable[[], Measurement]]:
        """Return what measures the artifacts of baselines, by their names."""
        return {name: partial(measure, MIX, path, threads, self.inputs) for name, path in artifacts.items()}

    def errors(self, folder: Path) -> dict[str, float]:
        """Return the largest error of each kind whose outputs are in `folder`."""
        made = {}
        for path in sorted(folder.glob("*.npz")):
            with np.load(path) as outputs:
                made[path.stem] = largest_error(dict(outputs), self.reference)
        return made


def prepare(case: Case, folder: Path) -> Subject:
    """Write the files of `case` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    case = case.written(folder)
    model = load_model(resolve(case.source), case.shapes)
    inputs = model.seeded_inputs()
    np.savez(folder / "inputs.npz", **inputs)  # type: ignore[arg-type]
    fixed = read_model(resolve(case.source)).model
    fix_shapes(fixed, case.shapes)
    onnx.save(fixed, folder / "model.onnx")
    accuracy = case.accuracy or default_accuracy(model)
    return Subject(case, folder / "model.onnx", folder / "inputs.npz", model.reference(inputs), len(model.graph), accuracy)


def toolchain_rows() -> list[dict[str, Any]]:
    """Return what `collage toolchains` says of each target that can be named."""
    done = subprocess.run([COLLAGE, "toolchains", "--json"], capture_output=True, text=True, check=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout)["toolchains"]
    return rows


def targets_of(rows: Sequence[Mapping[str, Any]], is_less_precise: bool) -> tuple[str, ...]:
    """Return the usable targets of the suite's toolchains, the preferred ones first, but for those of one device.

    Args:
        rows: As `toolchain_rows` returns them.
        is_less_precise: Whether targets that compute in less precision than the model are among them.
    """
    wanted = [
        row["name"]
        for row in rows
        if row["usable"]
        and ":" not in row["name"]
        and row["name"].partition("@")[0] in TOOLCHAINS
        and (is_less_precise or row["precision"] in FULL_PRECISION)
    ]
    return tuple(sorted(wanted, key=lambda name: (TOOLCHAINS.index(name.partition("@")[0]), name)))


def partition(case: Case, out: Path, options: Sequence[str], limit_s: float = LIMIT_S) -> tuple[dict[str, Any], float, str]:
    """Run `collage partition` on an empty database, with the artifact in `out`.

    Returns:
        Its document, the seconds that it took, and why there is no document.
    """
    out.mkdir(parents=True, exist_ok=True)
    own = ["--costs-db", str(out.with_suffix(".sqlite3")), "--out", str(out), "--json"]
    command = [str(COLLAGE), "partition", case.source, *case.shape_options, *own, *options]
    began = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return {}, time.monotonic() - began, f"`collage partition` was ended after {limit_s:.0f} s"
    took_s = time.monotonic() - began
    if done.returncode:
        said = " ".join(done.stderr.split())[-400:]
        return {}, took_s, f"`collage partition` ended with status {done.returncode}: {said}"
    return json.loads(done.stdout), took_s, ""


def facts_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a document what the tables show."""
    plan, verify, targets = document["plan"], document["verify"], document["targets"]
    return {
        "total_s": plan["total_s"],
        "partitions": len(plan["partitions"]),
        "targets": sorted({part["target"] for part in plan["partitions"]}),
        "measured_s": verify["measured_s"],
        "additive_error_s": verify["additive_error_s"],
        "error": verify["max_rel_error"],
        "baselines": [{key: row.get(key) for key in ("name", "total_s", "measured_s", "reason")} for row in document["baselines"]],
        "decided_by": document.get("decided_by"),
        "phases": document["phases"],
        "nodes": document["model"]["nodes"],
        "first_plan_s": document["budget"]["first_plan_s"],
        "candidates": sum(row["candidates"] for row in targets),
        "distinct": sum(row["unique"] for row in targets),
        "measured": sum(row["measured"] for row in targets),
    }


def baseline(facts: Mapping[str, Any], name: str) -> float | None:
    """Return the seconds that the baseline `name` took in the run, measured beside the plan; None where it was not measured."""
    return next((row["measured_s"] for row in facts["baselines"] if row["name"] == name), None)


def baseline_plans(document: Mapping[str, Any], plan: Plan) -> dict[str, Plan]:
    """Return the plan of each baseline of a run, by its name, but for the run's own `plan`; of equal ones the first."""
    known = {node: (name, op) for part in plan.partitions for node, name, op in zip(part.nodes, part.names, part.ops, strict=True)}
    made, met = {}, set[tuple[str, ...]]()
    for row in document["alternatives"]:
        ids = tuple(part["id"] for part in row["partitions"])
        if row["kind"] != BASELINE or row["is_plan"] or ids in met:
            continue
        met.add(ids)
        partitions = [
            PlanPartition(
                id=part["id"],
                target=part["target"],
                nodes=tuple(part["nodes"]),
                names=tuple(known[node][0] for node in part["nodes"]),
                ops=tuple(known[node][1] for node in part["nodes"]),
                cost_s=None,
                source="unknown",
            )
            for part in row["partitions"]
        ]
        total_s = row["total_s"] or 0.0
        made[row["name"]] = plan.model_copy(update={"partitions": tuple(partitions), "transitions": (), "total_s": total_s})
    return made


def apply(plan: Plan, source: str, out: Path, limit_s: float = LIMIT_S) -> str:
    """Build the artifact of `plan` in `out` with `collage apply`; return why there is none, empty where there is one."""
    out.mkdir(parents=True, exist_ok=True)
    path = out.with_suffix(".plan.json")
    plan.write(path)
    command = [str(COLLAGE), "apply", str(path), source, "--out", str(out)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return f"`collage apply` was ended after {limit_s:.0f} s"
    return f"`collage apply` ended with status {done.returncode}: {' '.join(done.stderr.split())[-400:]}" if done.returncode else ""
