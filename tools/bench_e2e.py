"""`make bench-e2e`: plans of the whole suite, measured beside every toolchain alone; prints tables, and fails when a goal is not reached.

It takes `--only`, `--threads`, `--accuracy`, `--rounds`, `--json`, `--resume` and `--markdown`; with `--drawn 12`, unseen variants of
the nine networks take the place of the suite (`drawn`), and the best plans of a slow search over few pieces run beside them
(`few_pieces`). For each model it runs
`collage partition` on an empty database, then the exported artifact and each toolchain alone in turns, each time in a fresh process
(`fresh_process`). It needs a machine that does nothing else, for hours, tells its progress on stderr, and prints what is known when it is
interrupted; `--resume` goes on. docs/benchmarks.md says how to read the tables.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from drawn import drawn
from e2e_report import HEADER, MODEL_ACCURACY, PIECES, Goal, Job, Result, Results, goals, report, row
from few_pieces import pieces_artifacts
from fresh_process import ALONE, FEWEST_ROUNDS, LESS_PRECISE, MIX, MOST_ROUNDS, Rounds, in_turns, until_apart
from partitioned import Subject, facts_of, partition, prepare, targets_of, toolchain_rows
from result_file import ResultFile, add_options, this_machine
from suite import Case, named, suite

from collage_core.errors import CollageError
from collage_core.model.onnx_model import load_model
from collage_core.rewrite.plan import read_plan

LESS_ACCURATE = "1e-2"
PIECES_S = 240.0
"""Longest that the pieces of a drawn model are timed."""


def jobs(cases: Sequence[Case], threads: Sequence[str], accuracies: Sequence[str]) -> list[Job]:
    """Return every job, group by group.

    Raises:
        ValueError: a number of threads or an accuracy is none.
    """
    for text in threads:
        if not text.isdigit() or int(text) < 1:
            raise ValueError(f"--threads {text!r} is no number of threads, such as 1,2")
    for text in accuracies:
        if not _is_accuracy(text):
            raise ValueError(f"--accuracy {text!r} is neither {MODEL_ACCURACY!r} nor a number between 0 and 1")
    return [Job(case, int(count), accuracy) for accuracy in accuracies for count in threads for case in cases]


def _is_accuracy(text: str) -> bool:
    try:
        return text == MODEL_ACCURACY or 0 < float(text) < 1
    except ValueError:
        return False


def asked_accuracy(job: Job, subject: Subject) -> float:
    """Return the accuracy that the run of a job is asked for: never a stricter one than the model needs anyway."""
    return subject.accuracy if job.accuracy == MODEL_ACCURACY else max(subject.accuracy, float(job.accuracy))


def measured(job: Job, subject: Subject, targets: Sequence[str], folder: Path, pieces_s: float, fewest: int) -> Result:
    """Run a job, with its files in `folder`; the slow search for plans of few pieces has `pieces_s` seconds."""
    accuracy = asked_accuracy(job, subject)
    artifact, outputs = folder / "artifact", folder / "outputs"
    outputs.mkdir(parents=True)
    tell(f"{job.key}: `collage partition`")
    options = ["--targets", ",".join(targets), "--threads", str(job.threads), "--accuracy", f"{accuracy:g}"]
    document, seconds, reason = partition(subject.case, artifact, options)
    alone = (*ALONE, *LESS_PRECISE) if job.is_less_precise else ALONE
    contenders = subject.contenders(outputs, artifact, job.threads, alone)
    if reason:
        del contenders[MIX]
    elif job.case.is_drawn:
        pieces = pieces_artifacts(load_model(subject.model), read_plan(artifact), targets, accuracy, folder, pieces_s, tell)
        contenders |= subject.beside(pieces, job.threads)
    tell(f"{job.key}: in turns: {', '.join(contenders)}")
    groups = [alone, [name for name in contenders if name.startswith(PIECES)]] if job.case.is_drawn else []
    # With fewer rounds an interval decides nothing, so more of them than asked for do not help.
    most = max(fewest, MOST_ROUNDS) if fewest >= FEWEST_ROUNDS else fewest
    rounds = in_turns(contenders, until_apart(job.least_ratio), fewest, most, groups)
    facts = {} if reason else facts_of(document)
    return Result(facts, rounds, subject.errors(outputs), accuracy, seconds, reason)


def from_json(data: Mapping[str, Any]) -> Result:
    return Result(**{**data, "rounds": Rounds(**data["rounds"])})


def tell(line: str) -> None:
    """Print a line of progress, with the time of day."""
    print(f"{datetime.now():%H:%M:%S} {line}", file=sys.stderr, flush=True)


def run(wanted: Sequence[Job], file: ResultFile[Result], pieces_s: float, fewest: int) -> None:
    """Measure the jobs that have no result yet, and print the row of each as soon as it is known."""
    subjects: dict[str, Subject] = {}
    rows = toolchain_rows()
    with tempfile.TemporaryDirectory(prefix="collage-bench-") as scratch:
        for job in wanted:
            if job.key in file.results:
                continue
            name, folder = job.case.name, Path(scratch) / "job"
            try:
                if name not in subjects:
                    subjects[name] = prepare(job.case, Path(scratch) / name)
                result = measured(job, subjects[name], targets_of(rows, job.is_less_precise), folder, pieces_s, fewest)
            except CollageError as error:
                result = Result(reason=error.message)
            shutil.rmtree(folder, ignore_errors=True)
            file.add(job.key, result)
            cells = ", ".join(f"{head} {cell}" for head, cell in zip(HEADER[1:], row(job, result)[1:], strict=True) if cell != "-")
            tell(f"{job.key}: {result.failure or cells}")


def judge(results: Results, machine: str, markdown: Path | None) -> int:
    """Print the tables and the goals; 1 when one is not reached."""
    judged: list[Goal] = goals(results)
    lines = "\n".join(map(str, judged))
    text = f"{machine}, {date.today()}\n\n{report(results)}\n\n### Goals\n\n```text\n{lines}\n```"
    print(text)
    if markdown is not None:
        markdown.write_text(text + "\n")
    return 0 if judged and all(goal.is_reached for goal in judged) else 1


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description="Measures plans of the whole suite beside every toolchain alone.")
    made.add_argument("--only", metavar="NAMES", default="", help="these models: a,b,…")
    made.add_argument(
        "--drawn", metavar="COUNT", type=int, help="so many variants of the nine networks, drawn afresh, in place of the suite"
    )
    made.add_argument("--seed", metavar="N", type=int, help="draws those that an earlier run drew, which said its seed")
    made.add_argument("--threads", metavar="COUNTS", default="1,2", help="numbers of threads: 1,2 unless given")
    made.add_argument(
        "--accuracy",
        metavar="VALUES",
        help=f"model, or a number; {MODEL_ACCURACY},{LESS_ACCURATE} unless given, {MODEL_ACCURACY} of drawn ones",
    )
    made.add_argument(
        "--pieces-seconds",
        metavar="S",
        type=float,
        default=PIECES_S,
        help=f"of each slow search over few pieces; {PIECES_S:.0f} unless given",
    )
    made.add_argument(
        "--rounds",
        metavar="N",
        type=int,
        default=FEWEST_ROUNDS,
        help=f"rounds at least; {FEWEST_ROUNDS} unless given; as many where fewer are asked for",
    )
    add_options(made)
    return made


def drawn_cases(count: int, seed: int | None) -> list[Case]:
    """Return so many drawn cases, of a seed of their own unless it is stated, and say it."""
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    print(f"drawn with --seed {seed}", file=sys.stderr)
    return drawn(count, seed)


def parts_of(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    options = parser()
    given = options.parse_args(arguments)
    file = ResultFile(given.json, this_machine(("ncnn", "onnxruntime", "openvino")), from_json)
    try:
        if given.drawn is not None and given.resume and given.seed is None:
            raise ValueError("--resume of drawn models needs --seed N, which the interrupted run said")
        cases = suite() if given.drawn is None else drawn_cases(given.drawn, given.seed)
        accuracies = given.accuracy or (MODEL_ACCURACY if given.drawn else f"{MODEL_ACCURACY},{LESS_ACCURATE}")
        wanted = jobs(named(cases, parts_of(given.only)), parts_of(given.threads), parts_of(accuracies))
        file.begin(given.resume)
    except ValueError as error:
        options.error(str(error))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(wanted, file, given.pieces_seconds, given.rounds)
    except KeyboardInterrupt:
        tell(f"interrupted: {len(file.results)} of {len(wanted)} rows are known")
    results = {job.key: (job, file.results[job.key]) for job in wanted if job.key in file.results}
    return max(judge(results, file.machine, given.markdown), len(results) < len(wanted))


if __name__ == "__main__":
    sys.exit(main())
