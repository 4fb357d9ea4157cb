"""`make onnx-suite`: every operator test that the `onnx` package generates, through partition, build and run; prints how many are right.

Each test is a small model with inputs; its artifact runs on drawn and extreme inputs, too. Worker processes take the tests one after
another; a test that kills its worker, or keeps it for longer than `LONGEST_S`, is a result like any other. ONNX Runtime's own run of the
model, unoptimised, is what counts as right. A refusal is one of our clear errors. The command ends with status 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from onnx_suite_case import CRASHED, NOT_RUN, OUTCOMES, REFUSED, RIGHT, Outcome, names, run_case

from collage_core.base.isolation.worker import Pool
from collage_core.base.isolation.worker_errors import WorkerError

WORKER = "suite"
LONGEST_S = 60.0
LISTED_S = 600.0
"""Longest that the list of all tests may take: to make it generates every one."""
LEAST_RIGHT = 0.97
"""Share of the tests that ONNX Runtime runs which must be right."""
SHOWN = 12


def main() -> int:
    """Run the tests that are asked for, and print a table of outcomes and the reasons of those that are not right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tests whose names contain this")
    parser.add_argument("--every", type=int, default=1, help="each N-th test")
    parser.add_argument("--targets", default="onnxruntime", help="toolchains, with commas between")
    parser.add_argument("--json", type=Path, help="file for all outcomes")
    given = parser.parse_args()
    outcomes = []
    with Pool() as pool:
        asked = [name for name in known(pool) if given.only in name][:: given.every]
        for outcome in run_all(pool, asked, given.targets.split(",")):
            outcomes.append(outcome)
            if sys.stderr.isatty():
                print(f"\r{len(outcomes)} of {len(asked)} {outcome.name:60.60}", end="", file=sys.stderr)
    if given.json:
        given.json.write_text(json.dumps([outcome.to_json() for outcome in outcomes], indent=1) + "\n")
    print(report(outcomes))
    return 0 if is_good(outcomes) else 1


def known(pool: Pool) -> list[str]:
    """Return the names of all tests; the worker that will run them generates them."""
    found: list[str] = pool.worker(WORKER).call(names, timeout_s=LISTED_S)
    return found


def run_all(pool: Pool, asked: Sequence[str], targets: Sequence[str]) -> Iterator[Outcome]:
    """Yield the outcome of each test, in one worker process that is replaced where a test ends it."""
    for name in asked:
        try:
            yield pool.worker(WORKER).call(run_case, name, tuple(targets), timeout_s=LONGEST_S)
        except WorkerError as error:
            yield Outcome(name, CRASHED, error.what)


def is_good(outcomes: Sequence[Outcome]) -> bool:
    """Return whether enough tests are right, and all others that ONNX Runtime runs are refused."""
    counts = Counter(outcome.kind for outcome in outcomes)
    run = len(outcomes) - counts[NOT_RUN]
    return counts[RIGHT] >= LEAST_RIGHT * run and counts[RIGHT] + counts[REFUSED] == run


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the table of outcomes, and for all but the right ones the reasons with how many tests have them."""
    counts = Counter(outcome.kind for outcome in outcomes)
    run = len(outcomes) - counts[NOT_RUN]
    lines = ["| outcome | tests |", "|---|--:|", *(f"| {kind} | {counts[kind]} |" for kind in OUTCOMES)]
    lines.append(f"\n{counts[RIGHT]} of the {run} that ONNX Runtime runs are right: {counts[RIGHT] / max(run, 1):.1%}")
    for kind in OUTCOMES:
        if kind != RIGHT and counts[kind]:
            lines += [f"\n{kind}:", *_reasons([outcome for outcome in outcomes if outcome.kind == kind])]
    return "\n".join(lines)


def _reasons(outcomes: Sequence[Outcome]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for outcome in outcomes:
        by_reason[outcome.sort].append(outcome.name)
    for reason, found in sorted(by_reason.items(), key=lambda pair: -len(pair[1])):
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        yield f"- {len(found)}: {reason} ({', '.join(found[:SHOWN])}{more})"


if __name__ == "__main__":
    sys.exit(main())
