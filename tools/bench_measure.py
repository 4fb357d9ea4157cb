"""Measures one case of `make bench`: phases 1 to 3 of one model, in a process of its own.

It takes the case as JSON on the command line (`Case` of bench.py), and a folder for files. It prints JSON lines, each figure as soon as
it is known, so that a case that is ended early has printed what it knew. Nothing is built, and
costs are mock costs.
"""

from __future__ import annotations

import gc
import json
import random
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import bench_models

from collage_core.errors import InfeasibleError
from collage_core.events import ignore
from collage_core.model.onnx_model import load_model
from collage_core.options import Options
from collage_core.pipeline.loop.search_and_merge import Planned, searched
from collage_core.pipeline.searched_run import SearchedRun
from collage_core.search.constraints.constraints import parse_constraints
from collage_core.search.problem import FEMTOSECONDS, SearchProblem
from collage_core.search.searcher import SearchResult, SearchRun, after
from collage_core.search.solve import SEARCHERS, solve

REPEATS = 3
ENOUGH_S = 20.0
"""After so long a case is not repeated again."""

SEARCHER_LIMIT_S = 20.0
MERGE_LIMIT_S = 30.0
CONSTRAINTS = 21
"""Vetoes that are tried, and pins, each on another node."""

TARGETS = ("left", "right", "third", "fourth")
_HEAVY = ("Conv", "Gemm", "MatMul")
_DECAY = 0.95

Tell = Callable[[dict[str, Any]], None]


def mock_costs(ops: list[str], targets: tuple[str, ...]) -> dict[str, Any]:
    """Costs under which no target is the best for all: of the light operators each is much faster at some.

    The heavy ones differ by a fifth, and handing a tensor over costs about as much as a light operator saves. The same
    operators give the same costs.
    """
    draw = random.Random(62)
    made: dict[str, Any] = {target: {"op_s": 5e-6, "decay": _DECAY, "ops": {}} for target in targets}
    for number, op in enumerate(ops):
        base = draw.uniform(20e-6, 30e-6) if op in _HEAVY else draw.uniform(4e-6, 8e-6)
        for rank, target in enumerate(targets):
            favoured = rank == number % len(targets)
            near, far = (0.9, 1.1) if op in _HEAVY else (0.5, 1.5)
            made[target]["ops"][op] = base * (near if favoured else far) * draw.uniform(0.97, 1.03)
    pairs = [(maker, reader) for maker in targets for reader in targets if maker != reader]
    transitions = {f"{maker}->{reader}": {"fixed_s": draw.uniform(0.5e-6, 1.5e-6), "per_byte_s": 1e-12} for maker, reader in pairs}
    return {"targets": made, "transitions": transitions}


def described(name: str, ops: list[str]) -> str:
    """The TOML of a toolchain that takes `ops`, and fuses whatever touches."""
    return f'name = "{name}"\nfusion = "arbitrary"\n[[pattern]]\nmatch = "{" | ".join(ops)}"\n'


def options_of(ops: list[str], targets: tuple[str, ...], depth: int, fold: bool, folder: Path) -> Options:
    """The options of a run; writes the toolchains and the costs into `folder`."""
    files = []
    for rank, target in enumerate(targets):
        # Each in an order of its own: equal rules would be one spec, and the second target's candidates come for nothing.
        files.append(folder / f"{target}.toml")
        files[-1].write_text(described(target, ops[rank:] + ops[:rank]))
    costs = folder / "mock.json"
    costs.write_text(json.dumps(mock_costs(ops, targets)))
    return Options(targets, costs=f"mock:{costs}", max_depth={"": depth}, fold=fold, toolchain_files=tuple(files), threads=1)


class Once:
    """One run of phases 1 to 3, by the pipeline's own functions, with the seconds of each.

    Attributes:
        seconds: ``find`` (phases 1 and 2), ``costs``, ``search`` (with the making of the problem), and ``sum``.
    """

    def __init__(self, path: Path, options: Options):
        self.run = SearchedRun(path, options, ignore)
        phases = self.run.phases.seconds
        self.seconds = {"find": (phases["specs"] or 0.0) + (phases["candidates"] or 0.0)}
        began = time.perf_counter()
        self.run.cost()
        costed = time.perf_counter()
        self.costed = self.run.loop.table.costed()
        self.problem = self.run.plans.problem(self.costed)
        self.first = searched(self.problem, (), self.run.plans.settings, ignore)
        self.seconds |= {"costs": costed - began, "search": time.perf_counter() - costed}
        self.seconds["sum"] = sum(self.seconds.values())

    def facts(self) -> dict[str, Any]:
        """Return the results, which are the same in every run."""
        found, first = self.run.found, self.first
        nodes_by_target: Counter[str] = Counter()
        for index in first.chosen:
            nodes_by_target[self.problem.candidates[index].target] += len(self.problem.candidates[index].inside)
        return {
            "nodes": len(found.graph),
            "candidates": {target: len(found.by_target[target]) for target in found.options.targets},
            "unique": dict(found.unique),
            "cut_off": any(sort[3] == "limit" for sort in found.log.counts),
            "optimal": first.optimal,
            "total_s": first.total / FEMTOSECONDS,
            "partitions": len(first.chosen),
            "placed": dict(nodes_by_target),
        }

    def merge_seconds(self) -> dict[str, Any]:
        """How long the rounds of merging take after the search, and what they bring."""
        gc.collect()  # what the search left behind is not collected on the time of the merging
        began = time.perf_counter()
        planned = Planned(self.first, self.first, self.problem, self.costed)
        self.run.plans.settings = replace(self.run.plans.settings, should_stop=after(MERGE_LIMIT_S))
        planned = self.run.loop.merge(planned)
        return {"merge_s": time.perf_counter() - began, "merged_total_s": planned.final.total / FEMTOSECONDS}


def searcher_figures(problem: SearchProblem, name: str) -> dict[str, Any]:
    """Return the figures of the searcher `name` within `SEARCHER_LIMIT_S`."""
    began = time.perf_counter()
    try:
        result = solve(problem, (), name, SearchRun.for_seconds(SEARCHER_LIMIT_S))
    except InfeasibleError as error:
        return {"seconds": time.perf_counter() - began, "total_s": None, "reason": error.message}
    return {
        "seconds": time.perf_counter() - began,
        "total_s": result.total / FEMTOSECONDS,
        "lower_bound_s": result.lower_bound / FEMTOSECONDS,
        "optimal": result.optimal,
        "stopped": result.stopped,
        "states": result.states,
        "moves": result.moves,
    }


def constraint_seconds(problem: SearchProblem, best: SearchResult) -> dict[str, Any]:
    """Seconds to a new optimum after a veto of a node's target, and after a pin to another, on nodes all over the model."""
    on = {node: problem.candidates[index].target for index in best.chosen for node in problem.candidates[index].inside}
    nodes = sorted(on)
    tried = [nodes[index * (len(nodes) - 1) // (CONSTRAINTS - 1)] for index in range(CONSTRAINTS)]
    others = {target: next(other for other in problem.priorities if other != target) for target in set(on.values())}
    made = {}
    for kind in ("veto", "pin"):
        seconds = []
        for node in tried:
            target = on[node] if kind == "veto" else others[on[node]]
            seconds.append(min(_once(problem, {"kind": kind, "node": node, "target": target}) for _ in range(REPEATS)))
        made[kind] = {"median_s": statistics.median(seconds), "worst_s": max(seconds), "tried": len(seconds)}
    return made


def _once(problem: SearchProblem, constraint: dict[str, Any]) -> float:
    began = time.perf_counter()
    solve(problem, parse_constraints([constraint], problem))
    return time.perf_counter() - began


def measure(case: Mapping[str, Any], folder: Path, tell: Tell) -> None:
    """Measure `case`: best of `REPEATS`, then what else the case asks for."""
    name, fold = case["model"], bench_models.is_folded(case["model"])
    path = folder / f"{name}.onnx"
    if not path.exists():
        path.write_bytes(bench_models.build(name).SerializeToString(deterministic=True))
    ops = sorted({node.op for node in load_model(path, fold=fold).graph.nodes})
    options = options_of(ops, TARGETS[: case["targets"]], case["depth"], fold, folder)
    once, best, spent = None, None, 0.0
    for repeat in range(1, REPEATS + 1):
        once = None  # the last run's memory is let go of before the next run
        once = Once(path, options)
        spent += once.seconds["sum"]
        best = once.seconds if best is None else min(best, once.seconds, key=lambda seconds: seconds["sum"])
        if repeat == 1:
            tell({**once.facts(), "first_sum_s": spent, "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024})
        tell({"seconds": best, "repeats": repeat})
        if spent > ENOUGH_S:
            break
    assert once is not None
    if "merge" in case["extras"]:
        tell(once.merge_seconds())
    if "constraints" in case["extras"]:
        tell({"constraints": constraint_seconds(once.problem, once.first)})
    if "searchers" in case["extras"]:
        for searcher in SEARCHERS:
            tell({f"searcher:{searcher}": searcher_figures(once.problem, searcher)})


def main() -> int:
    """Measure the case that the first argument states, with files in the folder that the second one names."""
    measure(json.loads(sys.argv[1]), Path(sys.argv[2]), lambda figures: print(json.dumps(figures), flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
