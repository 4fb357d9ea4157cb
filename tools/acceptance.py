"""`make acceptance`: runs the whole pipeline, with measuring, on the quick samples, two networks and real models from installed packages.

For each model it calls `collage partition … --costs measure --out DIR --json`, then `collage run DIR` in a fresh process. It checks that
every node is in exactly one partition, that the largest relative error is within the model's accuracy, and that the fresh process gives the
reference's outputs. Then it measures the artifact and every baseline in turns, each time in a fresh process of its own, and checks that the
artifact is not behind the fastest: each toolchain alone as its own users run it, and the artifacts of the plans that the run built as
baselines (TVM alone, greedy, ``+host``), which `collage apply` exports. It prints a table, and ends with status 1 on a failure.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from fresh_process import ALONE, MIX, Ratio, Rounds, in_turns, until_apart
from partitioned import COLLAGE, Subject, apply, baseline_plans, facts_of, partition, prepare
from suite import NOT_BEHIND, named, suite

from collage_core.base.processor import usable_cores
from collage_core.errors import CollageError
from collage_core.model.reference.accuracy import largest_error
from collage_core.rewrite.plan import Plan, read_plan

TARGETS = "ncnn,onnxruntime,openvino,tvm"
WIDTHS = "{:<13} {:>5} {:>9} {:>9} {:>8} {:>8} {:>8} {:>18} {:>8} {:>6}  {}  {}"
HEADER = ("model", "parts", "total", "measured", *ALONE, "alone / mix", "error", "took s", "targets", "other baselines")


@dataclass
class Checked:
    """The outcome of one case: what it measured, and what is wrong."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    rounds: Rounds = field(default_factory=Rounds)
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    @property
    def ratio(self) -> Ratio | None:
        return self.rounds.ratio(self.rounds.best(ALONE))


def check(subject: Subject, folder: Path, threads: int) -> Checked:
    """Run one case with its files in `folder`."""
    artifact, outputs = folder / "artifact", folder / "outputs"
    outputs.mkdir()
    options = ["--targets", TARGETS, "--threads", str(threads), "--accuracy", f"{subject.accuracy:g}", "--costs", "measure"]
    document, seconds, reason = partition(subject.case, artifact, options)
    if reason:
        return Checked(seconds=seconds, wrong=[reason])
    wrong = document_faults(document, subject.nodes, subject.accuracy) + run_faults(subject, artifact, folder / "outputs.npz")
    artifacts, faults = baseline_artifacts(document, read_plan(artifact), subject.case.source, folder)
    contenders = subject.contenders(outputs, artifact, threads) | subject.beside(artifacts, threads)
    rounds = in_turns(contenders, until_apart(NOT_BEHIND, list(contenders)[1:]))
    return Checked(facts_of(document), rounds, seconds, wrong + faults + speed_faults(rounds))


def baseline_artifacts(document: Mapping[str, Any], plan: Plan, source: str, folder: Path) -> tuple[dict[str, Path], list[str]]:
    """Export the baselines that only this program runs; return their folders by name, and which could be built in the run and now not.

    A toolchain alone is measured as its own users run it instead.
    """
    made, wrong = {}, []
    reasons = {row["name"]: row["reason"] for row in document["alternatives"]}
    for name, other in baseline_plans(document, plan).items():
        if name in ALONE:
            continue
        failure = apply(other, source, folder / f"baseline-{name}")
        if not failure:
            made[name] = folder / f"baseline-{name}"
        elif not reasons[name]:
            wrong.append(f"the baseline {name}: {failure}")
    return made, wrong


def run_faults(subject: Subject, artifact: Path, outputs: Path) -> list[str]:
    """Run the artifact as a user does, in a fresh process, and return what is wrong with its outputs."""
    command = [COLLAGE, "run", artifact, "--inputs", subject.inputs, "--outputs", outputs]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"collage run: {done.stderr.strip()[-400:]}"]
    with np.load(outputs) as got:
        error = largest_error(dict(got), subject.reference)
    return [] if error <= subject.accuracy else [f"a fresh process errs by {error:.2g}"]


def document_faults(document: Mapping[str, Any], nodes: int, accuracy: float) -> list[str]:
    """Return what is wrong with a document of `collage partition`: a node that is not covered once, or too large an error."""
    wrong = []
    covered = sorted(node for part in document["plan"]["partitions"] for node in part["nodes"])
    if covered != list(range(nodes)):
        wrong.append("not every node is in exactly one partition")
    error = document["verify"]["max_rel_error"]
    if error is None or not error <= accuracy:
        wrong.append(f"error {error} over {accuracy:g}")
    return wrong


def speed_faults(rounds: Rounds) -> list[str]:
    """Return which baselines were measured to be faster than the plan, by more than the rounds leave open."""
    if MIX in rounds.reasons:
        return [f"the artifact does not run: {rounds.reasons[MIX]}"]
    ratios = {name: rounds.ratio(name) for name in rounds.seconds if name != MIX}
    return [f"{name} takes {ratio} of its time" for name, ratio in ratios.items() if ratio is not None and ratio.high < NOT_BEHIND]


def row(name: str, checked: Checked) -> str:
    """Return one line of the table, in milliseconds."""
    facts, rounds = checked.facts, checked.rounds
    alone = [rounds.time_s(kind) for kind in (MIX, *ALONE)]
    shown = ["-" if seconds is None else f"{seconds * 1e3:.3g}" for seconds in (facts["total_s"], *alone)]
    others = [f"{name} {(rounds.time_s(name) or 0.0) * 1e3:.3g}" for name in rounds.seconds if name not in (MIX, *ALONE)]
    ratio, error = str(checked.ratio or "-"), "-" if facts["error"] is None else f"{facts['error']:.1e}"
    return WIDTHS.format(
        name, facts["partitions"], *shown, ratio, error, f"{checked.seconds:.0f}", "+".join(facts["targets"]), ", ".join(others)
    )


def main() -> int:
    """Run the cases in the arguments, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="only these")
    try:
        cases = named([case for case in suite() if case.is_quick], parser.parse_args().names)
    except ValueError as error:
        parser.error(str(error))
    threads, failures = usable_cores(), 0
    print(WIDTHS.format(*HEADER), flush=True)
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="collage-acceptance-") as scratch:
            try:
                checked = check(prepare(case, Path(scratch) / "model"), Path(scratch), threads)
            except CollageError as error:
                checked = Checked(wrong=[error.message])
        if checked.facts:
            print(row(case.name, checked), flush=True)
        for problem in checked.wrong:
            failures += 1
            print(f"{case.name:<13} WRONG: {problem}", flush=True)
    print(f"milliseconds, {threads} threads; {failures} failures", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
