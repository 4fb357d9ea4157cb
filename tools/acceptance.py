"""`make acceptance`: runs the whole pipeline, with measuring, on the quick samples and on real models from installed packages.

For each model it calls `collage partition … --costs measure --out DIR --json`, then `collage run DIR` in a fresh process. It checks that
every node is in exactly one partition, that the largest relative error is within the model's accuracy, and that the fresh process gives the
reference's outputs. Then it measures the artifact and each toolchain alone in turns, each time in a fresh process of its own, and checks
that the artifact is not behind the fastest. It prints a table, and ends with status 1 on a failure.
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
from partitioned import COLLAGE, Subject, baseline, facts_of, partition, prepare
from suite import NOT_BEHIND, named, suite

from collage_core.base.cores import usable_cores
from collage_core.errors import CollageError
from collage_core.model.accuracy import largest_error

TARGETS = "ncnn,onnxruntime,openvino,tvm"
BESIDE = ("tvm", "greedy")
"""Baselines that nobody runs without this program: they are compared as the run measured them, beside its plan."""

WIDTHS = "{:<13} {:>5} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>18} {:>8} {:>6}  {}"
HEADER = ("model", "parts", "total", "measured", *ALONE, *BESIDE, "alone / mix", "error", "took s", "targets")


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
    rounds = in_turns(subject.contenders(outputs, artifact, threads), until_apart(NOT_BEHIND))
    checked = Checked(facts_of(document), rounds, seconds, wrong)
    checked.wrong += speed_faults(checked.facts, rounds)
    return checked


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


def speed_faults(facts: Mapping[str, Any], rounds: Rounds) -> list[str]:
    """Return which baselines were measured to be faster than the plan."""
    best = rounds.best(ALONE)
    ratio = rounds.ratio(best)
    if MIX in rounds.reasons:
        return [f"the artifact does not run: {rounds.reasons[MIX]}"]
    wrong = [f"{best} alone takes {ratio} of its time"] if ratio is not None and ratio.value < NOT_BEHIND else []
    for name in BESIDE:
        seconds = baseline(facts, name)
        if seconds is not None and seconds < NOT_BEHIND * facts["measured_s"]:
            wrong.append(f"measured beside it, {name} takes {seconds:.6g} s and the plan {facts['measured_s']:.6g} s")
    return wrong


def row(name: str, checked: Checked) -> str:
    """Return one line of the table, in milliseconds."""
    facts, rounds = checked.facts, checked.rounds
    alone = [rounds.median_s(kind) for kind in (MIX, *ALONE)]
    times = [facts["total_s"], *alone, *(baseline(facts, name) for name in BESIDE)]
    shown = ["-" if seconds is None else f"{seconds * 1e3:.3g}" for seconds in times]
    ratio, error = str(checked.ratio or "-"), "-" if facts["error"] is None else f"{facts['error']:.1e}"
    return WIDTHS.format(name, facts["partitions"], *shown, ratio, error, f"{checked.seconds:.0f}", "+".join(facts["targets"]))


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
