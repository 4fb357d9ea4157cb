"""`make bench-tvm`: TVM by itself, with its own fusions, with those that the search chose, tuned, and with libraries; prints a table.

It takes `--only`, `--budget`, `--tune`, `--rounds`, `--json`, `--resume` and `--markdown`. For each sample it makes five plans. Their
artifacts, and what TVM's importer and default pipeline make of the model, are measured in turns, each time in a fresh process
(`fresh_process`). It fails where fusion mode is behind `FuseOps`. docs/benchmarks.md says how to read the table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench import table
from fresh_process import FEWEST_ROUNDS, MIX, TVM, Ratio, Rounds, in_turns, measure
from result_file import ResultFile, add_options, this_machine

from collage_core.errors import CollageError
from collage_core.events import ignore
from collage_core.graph.index_set import IndexSet
from collage_core.model.model import SubModel
from collage_core.model.onnx_model import load_model
from collage_core.model.samples.registry import resolve
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.pipeline.whole.differences import differences, region_text

SAMPLES = (
    *("mini_mnist", "mnist", "squeezenet", "inception", "gpt2", "bert"),
    *("quantised", "speech_transformer", "unet_segmentation", "detr"),
)
"""Those that TVM's importer and default pipeline take, and `tvm` covers alone."""
LIBRARIES = ("onednn", "blas")
AS_IT_IS, FUSE_OPS, FUSION = "as it is", "fuse_ops", "fusion"
PLANS = {
    FUSE_OPS: (("tvm",), False),
    FUSION: (("tvm@fusion",), False),
    "tuned": (("tvm@fusion",), True),
    "libraries": (("tvm@fusion", "tvm", *LIBRARIES), False),
    "all": (("tvm@fusion", "tvm", *LIBRARIES), True),
}
"""Each plan: its targets, and whether their kernels are tuned. Tuned kernels are shared, so the last begins with those of the third."""
TITLES = {FUSION: "fusion mode", "tuned": "tuned", "libraries": "with onednn and blas", "all": "all of it"}
COLUMNS = [cell for title in TITLES.values() for cell in (title, "×")]
HEADER = ("sample", "TVM as it is", "FuseOps", *COLUMNS, "kernels", "tuned", "nodes in libraries", "took s")
TIE = 0.99
"""Fusion mode is behind where it is surely less than so many times as fast as `FuseOps`."""
MOST_REGIONS = 6
"""Most regions of a sample that are printed."""
MOST_ROUNDS = 7
"""Rounds at most: TVM as it is takes seconds in each."""
THREADS = 1


@dataclass(frozen=True)
class Result:
    """Findings of one sample.

    Attributes:
        rounds: Of TVM as it is, and of each plan of `PLANS`.
        kernels: Number of kernels of `FuseOps`, and of fusion mode.
        differs: The regions in which the two differ, with what fusion mode saves in each, in seconds; those that save most first.
        tuned: Number of tuned partitions of fusion mode tuned, and of all its partitions.
        share: Part of the nodes that the libraries compute, without tuning.
        seconds: How long making and measuring the plans took.
        reason: Why there is no figure; empty where there is one.
    """

    rounds: Rounds = field(default_factory=Rounds)
    kernels: Sequence[int] = (0, 0)
    differs: Sequence[tuple[str, float]] = ()
    tuned: Sequence[int] = (0, 0)
    share: float = 0.0
    seconds: float = 0.0
    reason: str = ""

    @property
    def failure(self) -> str:
        missing = [f"{name}: {why}" for name, why in self.rounds.reasons.items()]
        return self.reason or "; ".join(missing)

    def times(self, plan: str) -> Ratio | None:
        """Return how many times as fast as `FuseOps` a plan is."""
        return self.rounds.ratio(FUSE_OPS, plan)

    @property
    def is_behind(self) -> bool:
        """True if fusion mode is surely slower than `FuseOps`, by more than a tie, or if one of them did not run."""
        found = self.times(FUSION)
        return found is None or found.high < TIE


def from_json(data: Mapping[str, Any]) -> Result:
    return Result(**{**data, "rounds": Rounds(**data["rounds"])})


def measured(name: str, options: Options, tune_s: float, fewest: int, folder: Path) -> Result:
    """Make the plans of a sample, and measure them in turns, with the files in `folder`."""
    began = time.monotonic()
    model = load_model(resolve(name))
    whole, arrays, inputs = model.cut(IndexSet(range(len(model.graph)))), model.seeded_inputs(), folder / "inputs.npz"
    np.savez(inputs, **{tensor.name: arrays[tensor.name] for tensor in whole.inputs})  # type: ignore[arg-type]
    library = folder / "as_it_is.so"
    compile_as_it_is(whole, library)
    made, contenders = dict[str, RunRecord](), {AS_IT_IS: partial(measure, TVM, library, THREADS, inputs)}
    for plan, (targets, tunes) in PLANS.items():
        out = folder / plan
        own = replace(options, targets=targets, costs_db=str(folder / "costs.sqlite3"), tune_s=tune_s if tunes else None, out=out)
        made[plan] = partition(name, own, ignore)
        contenders[plan] = partial(measure, MIX, out, THREADS, inputs)
    rounds = in_turns(contenders, is_decided, fewest, max(fewest, MOST_ROUNDS))
    tuned = made["tuned"].plan.partitions
    return Result(
        rounds,
        (len(fused_names(whole)), len(made[FUSION].plan.partitions)),
        differing(made[FUSION]),
        (sum(part.tuned is not None for part in tuned), len(tuned)),
        sum(len(part.nodes) for part in made["libraries"].plan.partitions if part.target in LIBRARIES) / len(model.graph),
        time.monotonic() - began,
    )


def is_decided(rounds: Rounds) -> bool:
    """Return whether it is sure on which side of a tie fusion mode and `FuseOps` are."""
    ratio = rounds.ratio(FUSE_OPS, FUSION)
    return ratio is None or ratio.is_apart_from(TIE)


def differing(record: RunRecord) -> tuple[tuple[str, float], ...]:
    """Return the regions in which a plan differs from the kernels of `FuseOps`, with the seconds that it saves in each."""
    regions = [region for difference in differences(record)[:1] for region in difference.regions]
    return tuple((region_text(region.plan, region.instead), region.saves_s or 0.0) for region in regions)


def fused_names(model: SubModel) -> list[str]:
    """Return the names of the kernels that `FuseOps` makes of a model, in the order of their calls."""
    from collage_core.toolchains.tvm.tvm_build import lowered

    main = lowered(model, THREADS)["main"]
    values = [binding.value for block in main.body.blocks for binding in block.bindings]
    return [str(value.args[0].name_hint) for value in values if getattr(getattr(value, "op", None), "name", "") == "relax.call_tir"]


def compile_as_it_is(model: SubModel, path: Path) -> None:
    """Write what TVM's importer and default pipeline make of a model as the library `path`."""
    import tvm

    from collage_core.toolchains.tvm.tvm_build import cpu_target
    from collage_core.toolchains.tvm.tvm_import import import_onnx

    tvm.compile(import_onnx(model), cpu_target(THREADS)).export_library(str(path))


def run(names: Sequence[str], options: Options, tune_s: float, fewest: int, file: ResultFile[Result]) -> None:
    """Measure the samples that have no result yet."""
    for name in names:
        if name in file.results:
            continue
        with tempfile.TemporaryDirectory(prefix="collage-bench-") as folder:
            try:
                result = measured(name, options, tune_s, fewest, Path(folder))
            except CollageError as error:
                result = Result(reason=error.message)
        file.add(name, result)
        print(f"{name}: {result.failure or result.times(FUSION)}, {result.seconds:.0f} s", file=sys.stderr, flush=True)


def row(name: str, result: Result) -> list[str]:
    """Return the cells of a sample's row."""
    seconds = result.rounds.time_s
    cells = [cell for plan in TITLES for cell in (ms(seconds(plan)), str(result.times(plan) or "-"))]
    kernels, tuned = (" / ".join(map(str, pair)) for pair in (result.kernels, result.tuned))
    own = [name, ms(seconds(AS_IT_IS)), ms(seconds(FUSE_OPS)), *cells]
    return [*own, kernels, tuned, f"{result.share:.0%}", f"{result.seconds:.0f}"]


def ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3g}"


def difference(name: str, result: Result) -> str:
    """Return how fusion mode differs from `FuseOps`: the numbers of kernels, the regions that save most, and all that lose."""
    first = f"{name}: {result.kernels[0]} kernels by FuseOps, {result.kernels[1]} in fusion mode"
    shown = [*result.differs[:MOST_REGIONS], *(one for one in result.differs[MOST_REGIONS:] if one[1] < 0)]
    lines = [f"  {saving(saves_s)}: {text}" for text, saves_s in shown]
    return "\n".join([f"{first}; they differ in {len(result.differs)} regions", *lines])


def saving(saves_s: float) -> str:
    return f"saves {ms(saves_s)} ms" if saves_s >= 0 else f"loses {ms(-saves_s)} ms"


def verdict(results: Mapping[str, Result]) -> str:
    """Return the lines that say for each sample whether fusion mode is behind `FuseOps`."""
    lines = []
    for name, result in results.items():
        found = result.times(FUSION)
        said = f"FuseOps / fusion mode {found} in {found.rounds} rounds" if found else f"no figure ({result.failure})"
        lines.append(f"{'FAIL' if result.is_behind else 'PASS'}  {name}, fusion mode is not behind FuseOps: {said}, wanted at least {TIE}")
    return "\n".join(lines)


def report(results: Mapping[str, Result]) -> str:
    """Return the table, what stands below it, and the verdict."""
    rows = [row(name, result) for name, result in results.items()]
    failed = "".join(f"\n- {name}: {result.failure}" for name, result in results.items() if result.failure)
    notes = "\n".join(difference(name, result) for name, result in results.items() if not result.reason)
    return f"{table(HEADER, rows)}\n{failed}\n```text\n{notes}\n\n{verdict(results)}\n```"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description="Measures TVM by itself, with chosen fusions, tuned, and with libraries.")
    parser.add_argument("--only", metavar="NAMES", default=",".join(SAMPLES), help=f"these samples: {','.join(SAMPLES)} unless given")
    parser.add_argument("--budget", metavar="S", type=float, help="seconds of measuring for each plan; as the size suggests unless given")
    parser.add_argument(
        "--tune", metavar="S", type=float, default=60.0, help="seconds of tuning a plan, where that is done; 60 unless given"
    )
    parser.add_argument("--rounds", metavar="N", type=int, default=FEWEST_ROUNDS, help=f"rounds at least; {FEWEST_ROUNDS} unless given")
    add_options(parser)
    given = parser.parse_args(arguments)
    names = [name.strip() for name in given.only.split(",") if name.strip()]
    file = ResultFile(given.json, this_machine(("apache-tvm",)), from_json)
    try:
        for name in names:
            resolve(name)
        file.begin(given.resume)
    except (ValueError, CollageError) as error:
        parser.error(str(error))
    run(names, Options(("tvm",), threads=THREADS, budget_s=given.budget), given.tune, given.rounds, file)
    results = {name: file.results[name] for name in names}
    text = f"{file.machine}, {date.today()}\n\n{report(results)}"
    print(text)
    if given.markdown is not None:
        given.markdown.write_text(text + "\n")
    return 1 if any(result.is_behind for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
