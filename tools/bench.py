"""`make bench`: how long phases 1 to 3 take, beside the C++ original; prints tables, and fails when a budget is not kept.

It takes `--only` and `--json`. It prints tables, and PASS or FAIL for each budget; it exits with status 1 when one fails. Each case runs in
a process of its own (`bench_measure`), all of them on one core; this process imports nothing large, since a child begins with its
parent's peak memory. docs/benchmarks.md says what is measured and how.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MEASURE = Path(__file__).resolve().parent / "bench_measure.py"
CASE_LIMIT_S = 100.0
SEARCHERS_LIMIT_S = 300.0
"""After so long a case is ended: without, and with a comparison of searchers."""

MIB = 2**20
GIB = 2**30


@dataclass(frozen=True)
class Case:
    """A model, and how it is searched.

    Attributes:
        model: For `bench_models.build`.
        depth: Bound on the depth of every candidate.
        targets: How many there are.
        extras: Further measurements: ``merge``, ``constraints``, ``searchers``.
    """

    model: str
    depth: int
    targets: int = 2
    extras: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.model} d{self.depth} t{self.targets}"


ORIGINAL_S = {
    "resnet50 d8 t2": 0.12,
    "googlenet d8 t2": 0.27,
    "densenet121 d8 t2": 0.56,
    "densenet121_listed d8 t2": 0.56,
    "gpt2 d4 t2": 1.2,
    "gpt2 d8 t2": 48.0,
}
"""Seconds of the C++ original, which ours are to be below. How its DenseNet joined features is not known: both ways are here."""
ORIGINAL = """\
C++ s is relay.collage of TVM v0.12, built from source (release) and instrumented, on one AMD EPYC core. Its costs come from a mock
estimator: 10 a call on a host target, 9 on a library-like one. Its nodes count constants and variables: ResNet-50 has 293, inception
472, DenseNet-121 864, GPT-2 with 12 layers 1,222. Our targets and costs are others, so C++/ours is not quite like for like."""
"""The source of the figures, as the report names it."""


LARGE = "transformer10000 d4 t3"
LARGE_S = 10.0
LARGE_BYTES = GIB
CONSTRAINT_S = 0.05

TABLES: dict[str, tuple[Case, ...]] = {
    "original": (
        Case("resnet50", 8, extras=("merge", "constraints", "searchers")),
        Case("googlenet", 8, extras=("merge", "searchers")),
        Case("densenet121", 8, extras=("merge", "searchers")),
        Case("densenet121_listed", 8, extras=("merge",)),
        Case("gpt2", 4, extras=("merge", "searchers")),
        Case("gpt2", 8, extras=("merge",)),
    ),
    "nodes": tuple(Case(f"transformer{nodes}", 4, 3) for nodes in (500, 2_000, 10_000)),
    "depth": tuple(Case(model, depth) for model in ("resnet50", "gpt2") for depth in range(2, 9)),
    "targets": (*(Case("resnet50", 8, targets) for targets in range(1, 5)), *(Case("gpt2", 4, targets) for targets in range(1, 5))),
}
"""The tables, in the order in which they are printed. A case of two tables is measured once, as the first of them has it."""

TITLES = {
    "original": "Beside the C++ original (two targets)",
    "nodes": "Growth over nodes (three targets, depth 4)",
    "depth": "Growth over depth (two targets)",
    "targets": "Growth over targets",
}

Figures = dict[str, Any]
"""The figures that a case's process printed."""


def wanted_cases(only: str | None) -> dict[str, Case]:
    """Label → case, for all tables, or for the table or the model that `only` names."""
    made: dict[str, Case] = {}
    for table, cases in TABLES.items():
        for case in cases:
            if only is None or only in (table, case.model):
                made.setdefault(case.label, next(first for listed in TABLES.values() for first in listed if first.label == case.label))
    return made


def measured(case: Case, folder: Path) -> Figures:
    """Return the figures that the process of `case` prints until it ends or its time is over."""
    limit_s = SEARCHERS_LIMIT_S if "searchers" in case.extras else CASE_LIMIT_S
    told, errors = folder / "told", folder / "errors"
    with told.open("w") as out, errors.open("w") as err:
        try:
            ran = subprocess.run([sys.executable, MEASURE, json.dumps(asdict(case)), folder], stdout=out, stderr=err, timeout=limit_s)
            status = "" if ran.returncode == 0 else f"failed: {_last_line(errors)}"
        except subprocess.TimeoutExpired:
            status = f"ended after {limit_s:.0f} s"
    figures: Figures = {"status": status}
    for line in told.read_text().splitlines():
        if line.endswith("}"):
            figures |= json.loads(line)
    return figures


def _last_line(path: Path) -> str:
    return next((line for line in reversed(path.read_text().splitlines()) if line.strip()), "it said nothing")


@dataclass(frozen=True)
class Check:
    """A budget, and what was measured against it."""

    name: str
    value: float | None
    budget: float
    unit: str

    @property
    def holds(self) -> bool:
        return self.value is not None and self.value < self.budget

    def __str__(self) -> str:
        value = "no figure" if self.value is None else f"{self.value:.3g} {self.unit}"
        return f"{'PASS' if self.holds else 'FAIL'}  {self.name}: {value}, to be below {self.budget:g} {self.unit}"


def checks(results: Mapping[str, Figures]) -> list[Check]:
    """The budgets of the cases that were measured."""
    made = []
    for label, figures in results.items():
        sum_s = figures.get("seconds", {}).get("sum")
        if label in ORIGINAL_S:
            made.append(Check(f"{label}, phases 1 to 3", sum_s, ORIGINAL_S[label], "s"))
        if label == LARGE:
            peak = figures.get("peak_bytes")
            made.append(Check(f"{label}, phases 1 to 3", sum_s, LARGE_S, "s"))
            made.append(Check(f"{label}, peak memory", None if peak is None else peak / GIB, LARGE_BYTES / GIB, "GiB"))
        if "constraints" in figures:
            for kind, found in figures["constraints"].items():
                made.append(Check(f"{label}, new optimum after a {kind} (worst of {found['tried']})", found["worst_s"], CONSTRAINT_S, "s"))
    return made


def faults(results: Mapping[str, Figures]) -> Iterator[str]:
    """Why a figure would not mean what it says: a case that did not end, a closure cut off, no proof, one target that takes all."""
    for label, figures in results.items():
        if figures["status"]:
            yield f"{label} {figures['status']}"
        if figures.get("cut_off"):
            yield f"{label}: candidates were cut off at a bound, so the set is not complete"
        if not figures.get("optimal", True):
            yield f"{label}: the plan is not proven to be a best one"
        placed, targets = figures.get("placed", {}), figures.get("candidates", {})
        if len(targets) > 1 and sum(count > 0 for count in placed.values()) < 2:
            yield f"{label}: one target takes every node"


HEADER = ("case", "nodes", "candidates", "find s", "costs s", "search s", "sum s", "C++ s", "C++/ours", "merge s", "peak MiB", "plan")


def row(label: str, figures: Figures) -> tuple[str, ...]:
    """The figures of a case as `HEADER` has them; ``-`` for what there is none of."""
    seconds, candidates = figures.get("seconds", {}), figures.get("candidates", {})
    original = ORIGINAL_S.get(label)
    peak = figures.get("peak_bytes")
    plan = " + ".join(f"{count} {target}" for target, count in figures.get("placed", {}).items())
    return (
        label,
        str(figures.get("nodes", "-")),
        " / ".join(f"{count:,}" for count in candidates.values()) or "-",
        *(_number(seconds.get(key)) for key in ("find", "costs", "search", "sum")),
        _number(original),
        "-" if original is None or not seconds else f"{original / seconds['sum']:.1f}",
        _number(figures.get("merge_s")),
        "-" if peak is None else f"{peak / MIB:.0f}",
        f"{figures['partitions']}: {plan}" if plan else figures["status"] or "-",
    )


def _number(value: float | None) -> str:
    """Three significant digits, without an exponent; ``-`` for none."""
    if value is None:
        return "-"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3 if value >= 0.1 else 4
    return f"{value:.{digits}f}"


SEARCHER_HEADER = ("case", "searcher", "s", "states", "moves", "total / optimum", "proven")


def searcher_rows(label: str, figures: Figures) -> Iterator[tuple[str, ...]]:
    """Yield the results of each searcher on the problem of a case."""
    best = figures.get("total_s")
    for key, found in figures.items():
        kind, _, name = key.partition(":")
        if kind != "searcher":
            continue
        total = found["total_s"]
        if total is None:
            yield label, name, _number(found["seconds"]), "-", "-", "no plan", found["reason"]
            continue
        bound = found["lower_bound_s"]
        proof = "optimal" if found["optimal"] else f"within {(total - bound) / total:.1g}" if bound else "nothing"
        ratio = f"{total / best:.4f}" if best else "-"
        yield label, name, _number(found["seconds"]), f"{found['states']:,}", f"{found['moves']:,}", ratio, proof


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns, as Markdown; the first column is left-aligned, the last too."""
    widths = [max(len(line[index]) for line in (header, *rows)) for index in range(len(header))]
    last = len(header) - 1

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if index in (0, last) else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = ("-" * width if index in (0, last) else "-" * (width - 1) + ":" for index, width in enumerate(widths))
    return "\n".join([line(header), f"| {' | '.join(rule)} |", *map(line, rows)])


def report(results: Mapping[str, Figures], only: str | None = None) -> str:
    """Return all tables of the cases that were measured, or the table `only`; the source of C++ figures stands above them."""
    parts = [ORIGINAL] if not ORIGINAL_S.keys().isdisjoint(results) else []
    for name, cases in TABLES.items():
        if only in TABLES and name != only:
            continue
        rows = [row(case.label, results[case.label]) for case in cases if case.label in results]
        if rows:
            parts.append(f"## {TITLES[name]}\n\n{table(HEADER, rows)}")
    rows = [line for label, figures in results.items() for line in searcher_rows(label, figures)]
    if rows:
        parts.append(f"## Searchers on the same problems\n\n{table(SEARCHER_HEADER, rows)}")
    rows = [
        (label, kind, str(found["tried"]), _number(found["median_s"] * 1e3), _number(found["worst_s"] * 1e3))
        for label, figures in results.items()
        for kind, found in figures.get("constraints", {}).items()
    ]
    if rows:
        parts.append(
            f"## A new optimum after a constraint, costs known\n\n{table(('case', 'kind', 'tried', 'median ms', 'worst ms'), rows)}"
        )
    return "\n\n".join(parts)


def machine() -> str:
    """The processor and the Python, in one line."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{processor}, one core, Python {platform.python_version()}"


def pin_to_one_core() -> None:
    """Keep this process and its children on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description="Times phases 1 to 3 beside the C++ original, and checks the budgets.")
    parser.add_argument("--only", metavar="NAME", help=f"one table ({', '.join(TABLES)}) or one model")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures there too")
    options = parser.parse_args(arguments)
    cases = wanted_cases(options.only)
    if not cases:
        known = dict.fromkeys(case.model for listed in TABLES.values() for case in listed)
        parser.error(f"--only {options.only!r} is neither a table nor a model; the models are {', '.join(known)}")
    pin_to_one_core()
    results: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="collage-bench-") as folder:
        for case in cases.values():
            began = time.monotonic()
            results[case.label] = measured(case, Path(folder))
            print(f"{case.label}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return judge(results, options.json, options.only)


def judge(results: Mapping[str, Figures], file: Path | None, only: str | None = None) -> int:
    """Print everything, write it to `file` where there is one; 1 when a budget is not kept or a figure is not what it seems."""
    judged, wrong = checks(results), list(faults(results))
    print(f"{machine()}\n\n{report(results, only)}\n\n## Budgets\n")
    print("\n".join([*map(str, judged), *(f"FAIL  {fault}" for fault in wrong)]))
    if file is not None:
        listed = [{**asdict(check), "holds": check.holds} for check in judged]
        data = {"schema": 1, "machine": machine(), "cases": results, "checks": listed, "faults": wrong}
        file.write_text(json.dumps(data, indent=1) + "\n")
    return 0 if not wrong and all(check.holds for check in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
