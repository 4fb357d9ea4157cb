"""`make bench-tvm`: TVM by itself, with its own fusions, with those that the search chose, tuned, and with libraries; prints a table.

The artifacts of the five plans are timed in turns. TVM as it is, its importer and its default pipeline, is timed by itself: it takes so
much longer that turns would take minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from collage_core.events import ignore
from collage_core.graph.index_set import IndexSet
from collage_core.model.base import SubModel
from collage_core.model.onnx_model import load_model
from collage_core.model.samples.registry import resolve
from collage_core.options import Options
from collage_core.pipeline.differences import differences, region_text
from collage_core.pipeline.run import partition
from collage_core.rewrite.runtime.artifact import Artifact

SAMPLES = ("mini_mnist", "mnist", "squeezenet", "inception", "gpt2", "bert")
LIBRARIES = ("onednn", "blas")
PLANS = {
    "fuse_ops": (("tvm",), False),
    "fusion": (("tvm@fusion",), False),
    "tuned": (("tvm@fusion",), True),
    "libraries": (("tvm@fusion", "tvm", *LIBRARIES), False),
    "all": (("tvm@fusion", "tvm", *LIBRARIES), True),
}
"""Each plan: its targets, and whether their kernels are tuned. Tuned kernels are shared, so the last begins with those of the third."""
ROUNDS, REPEATS = 9, 10
MOST_REGIONS = 6
"""Most regions of a sample that are printed."""


@dataclass(frozen=True)
class Row:
    """One sample.

    Attributes:
        plain_s: Seconds of TVM as it is.
        seconds: Of each plan of `PLANS`: `FuseOps` and our schedule, fusion mode, and so on.
        kernels: Number of kernels of `FuseOps`, and of fusion mode.
        differs: The regions in which the two differ, with what the plan saves in each, in seconds; those that save most first.
        share: Part of the nodes that the libraries compute, without tuning.
    """

    name: str
    plain_s: float
    seconds: Mapping[str, float]
    kernels: tuple[int, int]
    differs: tuple[tuple[str, float], ...]
    share: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(SAMPLES), help="these samples: a,b,…")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds of measuring for each run")
    parser.add_argument("--tune", type=float, default=60.0, help="seconds of tuning for each run that tunes")
    given = parser.parse_args()
    columns = "fusion mode, ms | × | tuned, ms | × | with onednn and blas, ms | × | all of it, ms | ×"
    print(f"| sample | TVM as it is, ms | FuseOps, ms | {columns} | kernels | nodes in libraries |")
    print("|" + " --- |" * 13)
    notes, behind = [], []
    for name in given.only.split(","):
        row = measured(name, given.budget, given.tune)
        print(text(row), flush=True)
        notes.append(difference(row))
        if row.seconds["fusion"] > 1.01 * row.seconds["fuse_ops"]:
            behind.append(name)
    print("\n" + "\n".join(notes))
    verdict = f"FAIL: {', '.join(behind)}" if behind else "PASS"
    print(f"\nfusion mode is never behind FuseOps by more than 1 %: {verdict}")
    return 1 if behind else 0


def measured(name: str, budget_s: float, tune_s: float) -> Row:
    """Make the plans, and time their artifacts in turns."""
    model = load_model(resolve(name))
    whole, arrays = model.cut(IndexSet(range(len(model.graph)))), model.seeded_inputs()
    with tempfile.TemporaryDirectory() as scratch:
        made = {}
        for plan, (targets, tunes) in PLANS.items():
            out, database = Path(scratch) / plan, str(Path(scratch) / "costs.sqlite3")
            options = Options(targets, threads=1, costs_db=database, budget_s=budget_s, tune_s=tune_s if tunes else None, out=out)
            made[plan] = (partition(name, options, ignore), Artifact.open(out))
        seconds = dict(zip(PLANS, times_in_turns([artifact for _, artifact in made.values()], arrays), strict=True))
    fused, libraries = made["fusion"][0], made["libraries"][0]
    placed = [len(part.nodes) for part in libraries.plan.partitions if part.target in LIBRARIES]
    told: dict[str, Any] = next(iter(differences(fused)), {"regions": []})
    differs = tuple((region_text(region), float(region["saves_s"] or 0.0)) for region in told["regions"])
    kernels = (len(fused_names(whole)), sum(part.target == "tvm@fusion" for part in fused.plan.partitions))
    plain_s = plain_seconds(whole, list(arrays.values()))
    return Row(name, plain_s, seconds, kernels, differs, sum(placed) / len(model.graph))


def times_in_turns(artifacts: list[Artifact], arrays: dict[str, np.ndarray]) -> list[float]:
    """Return the seconds of each: that of the first, and of the others its multiple by the median ratio in the rounds."""
    rounds = [[median(one.time(arrays, REPEATS)) for one in artifacts] for _ in range(ROUNDS)]
    first_s = median(row[0] for row in rounds)
    return [first_s * median(row[at] / row[0] for row in rounds) for at in range(len(artifacts))]


def fused_names(model: SubModel) -> list[str]:
    """Return the names of the kernels that `FuseOps` makes of a model, in the order of their calls."""
    from collage_core.toolchains.tvm_build import lowered

    main = lowered(model, 1)["main"]
    values = [binding.value for block in main.body.blocks for binding in block.bindings]
    return [str(value.args[0].name_hint) for value in values if getattr(getattr(value, "op", None), "name", "") == "relax.call_tir"]


def plain_seconds(model: SubModel, arrays: list[np.ndarray]) -> float:
    """Return the seconds of a run of what TVM's importer and default pipeline make of a model."""
    import tvm
    from tvm import relax

    from collage_core.toolchains.tvm_build import cpu_target
    from collage_core.toolchains.tvm_import import import_onnx

    machine = relax.VirtualMachine(tvm.compile(import_onnx(model), cpu_target(1)), tvm.cpu())
    given = [tvm.runtime.tensor(np.require(array, requirements="C")) for array in arrays]
    machine["main"](*given)
    samples: list[float] = []
    until = time.perf_counter() + 3.0
    while len(samples) < 3 or time.perf_counter() < until:
        began = time.perf_counter()
        machine["main"](*given)
        samples.append(time.perf_counter() - began)
    return median(samples)


def text(row: Row) -> str:
    """Return the row of the table."""
    kernels = f"{row.kernels[0]} / {row.kernels[1]}"
    base = row.seconds["fuse_ops"]
    cells = [cell for plan in list(PLANS)[1:] for cell in (ms(row.seconds[plan]), times(base, row.seconds[plan]))]
    return "| " + " | ".join([row.name, ms(row.plain_s), ms(base), *cells, kernels, f"{row.share:.0%}"]) + " |"


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"


def times(base: float, seconds: float) -> str:
    return f"{base / seconds:.2f}"


def difference(row: Row) -> str:
    """Return how the kernels of fusion mode differ from those of `FuseOps`: their numbers, and a line for each region that saves most."""
    first = f"{row.name}: {row.kernels[0]} kernels by FuseOps, {row.kernels[1]} in fusion mode; they differ in {len(row.differs)} regions"
    return "\n".join([first, *(f"  saves {ms(saves_s)} ms: {text}" for text, saves_s in row.differs[:MOST_REGIONS])])


if __name__ == "__main__":
    sys.exit(main())
