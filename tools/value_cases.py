"""`make value-cases`: small models on unusual values, through the command line with each toolchain alone and with all together.

Each case is a model, inputs and what is right (`tests/helpers/value_cases.py`, or a folder of NAME.onnx, NAME.inputs.npz and
NAME.expected.npz). It is partitioned and exported, once with its inputs and once without, and the artifact runs on them. Right is what
equals the expected outputs, for floats to 2e-3 of the largest; a refusal with a reason is no fault. The command ends with status 1 where
an artifact is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from collage_core.model.reference.accuracy import output_errors  # noqa: E402
from tests.helpers.value_cases import CASES  # noqa: E402

TOOLCHAINS = ("onnxruntime", "openvino", "tvm", "ncnn")
TARGETS = (*TOOLCHAINS, ",".join(TOOLCHAINS))
BUDGET = "3s"
LONGEST_S = 120.0
TOO_LONG = 124
"""The status of what was ended after that, as of the command `timeout`."""
FLOAT_TOLERANCE = 2e-3
HUGE = 1e18
"""Beyond it a product of two numbers overflows: such values count under `--values any` alone."""
RIGHT, REFUSED, WRONG, FAILED = OUTCOMES = ("right", "refused", "wrong", "failed")
USER_ERRORS = (1, 2, 3, 4)
"""Exit statuses of `collage` that come with one clear sentence."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case with some targets.

    Attributes:
        kind: One of `OUTCOMES`.
        detail: Who ran it where it is right, else why it is not.
    """

    name: str
    targets: str
    with_inputs: bool
    kind: str
    detail: str


def write_cases(folder: Path) -> None:
    """Write the cases of `tests/helpers/value_cases.py` into a folder, in three files each."""
    for name, case in CASES.items():
        onnx.save(case.model(), folder / f"{name}.onnx")
        np.savez(folder / f"{name}.inputs.npz", allow_pickle=False, **case.inputs)
        np.savez(folder / f"{name}.expected.npz", allow_pickle=False, **case.expected())


def run_case(model: Path, targets: str, with_inputs: bool, options: Sequence[str] = ()) -> Outcome:
    """Partition `model` with `targets`, export the plan, and run the artifact on the case's inputs."""
    inputs = model.with_suffix(".inputs.npz")

    def outcome(kind: str, detail: str) -> Outcome:
        return Outcome(model.stem, targets, with_inputs, kind, detail)

    with tempfile.TemporaryDirectory(prefix="collage-values-") as scratch:
        out, outputs = Path(scratch) / "artifact", Path(scratch) / "outputs.npz"
        own = ["--inputs", str(inputs)] if with_inputs else _shapes(inputs)
        own += [] if _is_ordinary(inputs) and _is_ordinary(model.with_suffix(".expected.npz")) else ["--values", "any"]
        asked = ["partition", str(model), "--targets", targets, "--budget", BUDGET, "--out", str(out), "--json", *own, *options]
        made = _collage(asked, Path(scratch))
        if made.returncode:
            return outcome(REFUSED if made.returncode in USER_ERRORS and "Traceback" not in made.stderr else FAILED, _last(made.stderr))
        ran = _collage(["run", str(out), "--inputs", str(inputs), "--outputs", str(outputs)], Path(scratch))
        if ran.returncode:
            return outcome(FAILED, _last(ran.stderr))
        wrong = _difference(dict(np.load(outputs)), dict(np.load(model.with_suffix(".expected.npz"))))
        if wrong:
            return outcome(WRONG, wrong)
        parts = json.loads(made.stdout)["plan"]["partitions"]
        return outcome(RIGHT, " + ".join(sorted({part["target"] for part in parts})))


def _is_ordinary(arrays: Path) -> bool:
    """Return whether float32 arrays hold what counts unless asked for: no NaN, no infinity, and nothing huge (docs/values.md)."""
    with np.load(arrays) as read:
        return all(bool((np.abs(array) < HUGE).all()) for array in read.values() if array.dtype == np.float32)


def _shapes(inputs: Path) -> list[str]:
    """Return options for shapes that no draw has: those with a dimension of 0."""
    arrays = np.load(inputs)
    empty = [(name, arrays[name].shape) for name in arrays.files if 0 in arrays[name].shape]
    return [part for name, shape in empty for part in ("--shape", f"{name}={','.join(map(str, shape))}")]


def _collage(arguments: Sequence[str], home: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("collage")), *arguments]
    surroundings = {**os.environ, "COLLAGE_COSTS": str(home / "costs.db"), "XDG_DATA_HOME": str(home)}
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, env=surroundings, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, TOO_LONG, "", f"it took longer than {LONGEST_S:g} s")


def _last(text: str) -> str:
    """Return the last line of standard error that is no hint: of a clear error that is what was found, of a traceback its exception."""
    return next((line for line in reversed(text.splitlines()) if line.strip() and not line.startswith("hint:")), "it says nothing")


def _difference(got: Mapping[str, np.ndarray], want: Mapping[str, np.ndarray]) -> str:
    """Return by what the outputs are wrong; empty where they are right."""
    for name, error in output_errors(got, want).items():
        tolerance = FLOAT_TOLERANCE if want[name].dtype.kind == "f" else 0.0
        if not error <= tolerance:
            return f"{name} is {np.asarray(got.get(name)).ravel()[:6]}, not {want[name].ravel()[:6]}"
    return ""


def run_all(folder: Path, names: Sequence[str], targets: Sequence[str], ways: Sequence[bool], options: Sequence[str]) -> Iterator[Outcome]:
    """Yield the outcome of each case that is asked for."""
    for model in sorted(folder.glob("*.onnx")):
        if not names or any(part in model.stem for part in names):
            for target in targets:
                for with_inputs in ways:
                    yield run_case(model, target, with_inputs, options)


def main() -> int:
    """Run the cases, print each outcome as it comes, and the counts at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=Path, help="a folder of cases, in place of our own")
    parser.add_argument("--only", action="append", default=[], help="cases whose names contain this; repeatable")
    parser.add_argument(
        "--targets", action="append", help=f"toolchains, with commas between; repeatable; {' and '.join(TARGETS)} unless given"
    )
    parser.add_argument("--drawn", action="store_true", help="partition without the cases' inputs alone: half the time, and harder")
    parser.add_argument("options", nargs="*", help="further options of `collage partition`, behind --")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="collage-values-") as scratch:
        folder = given.cases or Path(scratch)
        if not given.cases:
            write_cases(folder)
        ways = (False,) if given.drawn else (True, False)
        for outcome in run_all(folder, given.only, given.targets or TARGETS, ways, given.options):
            counts[outcome.kind] += 1
            way = "its inputs" if outcome.with_inputs else "drawn inputs"
            print(f"{outcome.kind:8} {outcome.name} · {outcome.targets} · {way} · {outcome.detail}", flush=True)
    print(", ".join(f"{counts[kind]} {kind}" for kind in OUTCOMES))
    return 1 if counts[WRONG] or counts[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main())
