"""`make bench-verdicts`: how often a run says that one plan is faster than another, where it is not, and where it is.

On recorded noise (`tests/data/timing_noise`) a plan is compared with itself, and with one that takes 5 % longer, as a run compares whole
plans: the same turns, the same choice, the same sentence. With ``--load`` five models are planned while another process keeps one core
busy, eight times each; then, on a machine that must do nothing else, each plan that was announced as faster is measured beside the
toolchains alone. Tables are printed, and the status is 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fresh_process import in_turns, until_apart
from partitioned import Subject, partition, prepare
from suite import Case, named, suite

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from collage_core.base.processor import usable_cores  # noqa: E402
from collage_core.cost.measuring.turns import Turns  # noqa: E402
from collage_core.documents.json_form import to_json  # noqa: E402
from collage_core.documents.verdict import verdict  # noqa: E402
from collage_core.pipeline.whole.finalists import BASELINE, SEARCHED, Finalist, Kind, alternatives, whole_times, winner  # noqa: E402
from tests.helpers.documents import PART, run_document  # noqa: E402
from tests.helpers.noisy_machine import NoisyMachine  # noqa: E402

RUNS_S = (1e-3, 5e-3, 20e-3)
"""Seconds of a run of the plans that are compared, in turns."""
DRIFTS = (0.0, 0.4)
"""Shares by which the recorded machine becomes slower and faster besides, within seconds."""
PLANTED = 0.95
PAIRS, MOST_WRONG = 200, 2
PLANTED_PAIRS, FEWEST_FOUND = 100, 95
"""Goals on the recorded noise as it is; the rows with a drift are for comparison."""
TIMES = 8
"""Runs of each model beside a load."""
MOST_SLOWER = 0.97
"""No plan that was announced as faster may be slower than the best toolchain alone by more than that."""
TARGET = {"name": "tvm", "candidates": 1, "unique": 1, "invalid": 0, "measured": 1, "cache_hits": 0}


def said(seed: int, factor: float, drift: float) -> str:
    """Return what a run says of a plan of two targets that takes `factor` times as long as one target alone: the verdict's kind."""
    machine, run_s = NoisyMachine(seed, drift), RUNS_S[seed % len(RUNS_S)]
    bursts = {0: partial(machine.burst, factor * run_s), 1: partial(machine.burst, run_s)}
    rounds = Turns(bursts, clock=lambda: machine.now_s).all_rounds()
    finalists = [_finalist({"search": SEARCHED}, 2), _finalist({"tvm": BASELINE}, 1)]
    plan = winner(rounds, finalists)
    times = whole_times(rounds, plan, 2)
    own = times[plan]
    parts = [{**PART, "target": "tvm"}, {**PART, "id": "d", "nodes": [1], "target": "ncnn"}]
    document = run_document(
        targets=[TARGET, {**TARGET, "name": "ncnn"}],
        plan={"total_s": run_s, "partitions": parts[: 2 - plan]},
        decided_by="whole",
        alternatives=to_json(alternatives(finalists, times, plan)),
        verify={
            "accuracy": 1e-3,
            "max_rel_error": 0.0,
            "measured_s": own.measured_s,
            "interval_s": own.interval_s,
            "rounds": own.rounds,
        },
    )
    judged = verdict(document)
    return judged.kind if judged.is_good or judged.kind == "slower" else "undecided"


def _finalist(names: dict[str, Kind], partitions: int) -> Finalist:
    plan: Any = SimpleNamespace(partitions=())
    return Finalist(names, plan, (partitions,), (partitions, 0), may_ship=True, total_s=1.0, guessed_s=1.0)


def on_recorded_noise() -> list[str]:
    """Print what runs say of a plan and itself, and of one that is 5 % faster; return the goals that were missed."""
    missed = []
    print("drift  plans      faster  alone is best  slower  not decided")
    for drift in DRIFTS:
        same = Counter(said(seed, 1.0, drift) for seed in range(PAIRS))
        planted = Counter(said(PAIRS + seed, PLANTED, drift) for seed in range(PLANTED_PAIRS))
        for name, counts in (("the same", same), ("5 % apart", planted)):
            print(
                f"{drift:>5.0%}  {name:<9}  {counts['faster']:>6}  {counts['alone']:>13}  {counts['slower']:>6}  {counts['undecided']:>11}"
            )
        wrong = PAIRS - same["undecided"]
        if not drift and wrong > MOST_WRONG:
            missed.append(f"{wrong} of {PAIRS} comparisons of a plan with itself end with a difference, at most {MOST_WRONG} may")
        if not drift and planted["faster"] < FEWEST_FOUND:
            missed.append(f"a difference of 5 % is found in {planted['faster']} of {PLANTED_PAIRS} comparisons, {FEWEST_FOUND} wanted")
    return missed


@contextmanager
def busy_core() -> Iterator[None]:
    """Keep one core busy with a process of its own."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as load:
        try:
            yield
        finally:
            load.kill()


def beside_a_load(cases: Sequence[Case], times: int, options: Sequence[str]) -> list[str]:
    """Plan each of `cases` so often beside a load, then measure what was announced as faster; return what was wrong."""
    wrong = []
    with tempfile.TemporaryDirectory(prefix="collage-verdicts-") as scratch:
        announced: list[tuple[Subject, Path, str]] = []
        with busy_core():
            for case in cases:
                subject = prepare(case, Path(scratch) / case.name)
                for number in range(times):
                    out = Path(scratch) / f"{case.name}-{number}"
                    document, seconds, reason = partition(subject.case, out, options)
                    told = reason or document["verdict"]["text"]
                    print(f"{case.name} {number + 1} of {times}, {seconds:.0f} s: {told}", flush=True)
                    if reason:
                        wrong.append(f"{case.name}: {reason}")
                    elif document["verdict"]["kind"] == "faster":
                        announced.append((subject, out, told))
        for subject, out, told in announced:
            contenders = subject.contenders(out, out, usable_cores())
            rounds = in_turns(contenders, until_apart(MOST_SLOWER))
            ratio = rounds.ratio(rounds.best(list(contenders)[1:]))
            print(f"{out.name}: {told}; quiet: the best target alone takes {ratio} of its time", flush=True)
            if ratio is not None and ratio.value < MOST_SLOWER:
                wrong.append(f"{out.name} was announced as faster, and the best target alone takes {ratio} of its time")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--load", action="store_true", help="plan models beside a process that keeps one core busy; needs a quiet machine")
    parser.add_argument("--only", metavar="NAMES", help="with --load: models of the suite; five quick ones unless given")
    parser.add_argument("--times", type=int, default=TIMES, help="with --load: runs of each model (default: %(default)s)")
    parser.add_argument("--budget", help="with --load: that of each run")
    asked = parser.parse_args(arguments)
    if asked.load:
        chosen = named(suite(), asked.only.split(",")) if asked.only else [case for case in suite() if case.is_quick][:5]
        missed = beside_a_load(chosen, asked.times, ["--budget", asked.budget] if asked.budget else [])
    else:
        missed = on_recorded_noise()
    for line in missed:
        print(f"FAIL  {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
