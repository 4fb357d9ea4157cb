"""`make bench-budget`: how long runs take beside their budgets, and how well the time left was predicted after the first seconds.

It takes samples, targets and a budget, and runs each sample into a database of its own, which is removed. It prints a table, and PASS or
FAIL for each goal; it exits with status 1 when one fails. A run takes as long as its budget; the machine should do nothing else.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from collage_core.events import Event
from collage_core.options import Options
from collage_core.pipeline.partition import partition

MODELS = ("mini_mnist", "mnist", "squeezenet", "bert", "gpt2", "crnn")
TARGETS = ("onnxruntime", "openvino", "tvm", "ncnn")
ASKED_AT_S = 5.0
"""The time left that was told last after so many seconds is compared with the actual one."""
LATE, OFF = 1.2, 1.5
"""Goals: the run takes at most so many times its budget, and the prediction is off by no more than this factor."""


@dataclass
class Clock:
    """Listens to the events of one run.

    Attributes:
        first_s: Seconds until the first toolchain alone was told; None before that.
        predicted_s: Seconds of the whole run as they were predicted last within the first `ASKED_AT_S`; None where nothing was told.
    """

    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)
    first_s: float | None = None
    predicted_s: float | None = None

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def elapsed_s(self) -> float:
        return self.clock() - self.began

    def __call__(self, event: Event) -> None:
        told = event.to_json()
        if told["type"] == "TargetAlone" and self.first_s is None:
            self.first_s = self.elapsed_s
        if told.get("left_s") is not None and self.elapsed_s <= ASKED_AT_S:
            self.predicted_s = self.elapsed_s + told["left_s"]


def factor(predicted_s: float | None, total_s: float) -> float | None:
    """Return by which factor the time left at `ASKED_AT_S` was predicted wrong, at least 1; None for runs that were over, or untold."""
    if predicted_s is None or total_s <= ASKED_AT_S:
        return None
    told, real = max(predicted_s - ASKED_AT_S, 0.1), total_s - ASKED_AT_S
    return max(told / real, real / told)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(MODELS), help="samples, or files")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--budget", type=float, help="seconds; by default that of each model")
    given = parser.parse_args(arguments)
    options, is_good = Options(tuple(given.targets.split(",")), budget_s=given.budget), True
    print(f"{'model':20} {'budget s':>8} {'total s':>8} {'first s':>8} {'predicted s':>11} {'off by':>7}")
    for name in given.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            clock = Clock()
            record = partition(name, replace(options, costs_db=str(Path(folder) / "costs.sqlite3")), clock)
            total_s = clock.elapsed_s
        budget = record.document.budget
        limit_s = None if budget is None else budget.limit_s
        off = factor(clock.predicted_s, total_s)
        is_good = is_good and (limit_s is None or total_s <= LATE * limit_s) and (off is None or off <= OFF)
        cells = [limit_s, total_s, clock.first_s, clock.predicted_s]
        shown = [f"{'-' if cell is None else format(cell, '.1f'):>{width}}" for cell, width in zip(cells, (8, 8, 8, 11), strict=True)]
        print(f"{name:20} {' '.join(shown)} {'-' if off is None else format(off, '.2f'):>7}", flush=True)
    goal = f"within {LATE:g} times the budget, and the time left after {ASKED_AT_S:g} s within a factor of {OFF:g}"
    print(f"{'PASS' if is_good else 'FAIL'}: {goal}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
