"""`make acceptance`: runs the whole pipeline, with measuring, on the quick samples and on real models from installed packages.

For each model it calls `collage partition … --costs measure --out DIR --json`, then `collage run DIR` in a fresh process. It checks that
every node is in exactly one partition, that the largest relative error is within the default accuracy, that the total is not above that
of any single target, and that the fresh process gives the reference's outputs. It prints a table, and ends with status 1 on a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from collage_core.model.accuracy import largest_error
from collage_core.model.onnx_model import load_model
from collage_core.model.samples.registry import resolve

COLLAGE = Path(sys.executable).with_name("collage")
TARGETS = "tvm,onnxruntime,openvino"


@dataclass(frozen=True)
class Case:
    """A model and the shapes that it needs."""

    name: str
    source: str
    shapes: dict[str, tuple[int, ...]]


def cases() -> list[Case]:
    """Return the quick samples, and the models inside `rapidocr-onnxruntime` and `magika`."""
    made = [
        Case(name, name, {}) for name in ("mini_mnist", "mnist", "lstm", "quantised", "gpt2", "squeezenet", "inception", "bert", "resnet50")
    ]
    shapes = {"det": (1, 3, 320, 320), "rec": (1, 3, 48, 320), "cls": (1, 3, 48, 192)}
    for path in sorted(_package("rapidocr_onnxruntime").rglob("*.onnx")):
        kind = next(kind for kind in shapes if f"_{kind}_" in path.name)
        made.append(Case(f"rapidocr {kind}", str(path), {"x": shapes[kind]}))
    made += [Case("magika", str(path), {}) for path in sorted(_package("magika").rglob("*.onnx"))]
    return made


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        sys.exit(f"{name} is not installed: run `make setup`")
    return Path(spec.origin).parent


def check(case: Case, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Run one case, and return the document of `collage partition` and the list of failures."""
    options = [part for name, shape in case.shapes.items() for part in ("--shape", f"{name}={','.join(map(str, shape))}")]
    command = [str(COLLAGE), "partition", case.source, "--targets", TARGETS, "--costs", "measure", "--out", str(folder), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {}, [f"exit status {done.returncode}: {done.stderr.strip()[-400:]}"]
    document = json.loads(done.stdout)
    model = load_model(resolve(case.source), case.shapes)
    wrong = _check_document(document, len(model.graph), 2e-2 if model.is_quantised else 1e-3)
    inputs = model.seeded_inputs()
    given, outputs = folder / "acceptance_inputs.npz", folder / "outputs.npz"
    np.savez(given, **inputs)  # type: ignore[arg-type]
    command = [str(COLLAGE), "run", str(folder), "--inputs", str(given), "--outputs", str(outputs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return document, [*wrong, f"collage run: {done.stderr.strip()[-400:]}"]
    with np.load(outputs) as got:
        error = largest_error(dict(got), model.reference(inputs))
    if error > document["verify"]["accuracy"]:
        wrong.append(f"a fresh process errs by {error:.2g}")
    return document, wrong


def _check_document(document: dict[str, Any], nodes: int, accuracy: float) -> list[str]:
    wrong = []
    plan, verify = document["plan"], document["verify"]
    covered = sorted(node for part in plan["partitions"] for node in part["nodes"])
    if covered != list(range(nodes)):
        wrong.append("not every node is in exactly one partition")
    if not verify["max_rel_error"] <= accuracy:
        wrong.append(f"error {verify['max_rel_error']:.2g} over {accuracy:g}")
    for row in document["baselines"]:
        if row["total_s"] is not None and plan["total_s"] > row["total_s"] * (1 + 1e-9):
            wrong.append(f"total {plan['total_s']:.6g} s above {row['name']}'s {row['total_s']:.6g} s")
    return wrong


def row(case: Case, document: dict[str, Any], seconds: float) -> str:
    """Return one line of the table, in milliseconds."""
    plan, verify = document["plan"], document["verify"]
    alone = {item["name"]: item["measured_s"] for item in document["baselines"]}
    ms = {name: "-" if value is None else f"{value * 1e3:.3g}" for name, value in alone.items()}
    targets = sorted({part["target"] for part in plan["partitions"]})
    return (
        f"{case.name:<14} {len(plan['partitions']):>4} {plan['total_s'] * 1e3:>9.3g} {verify['measured_s'] * 1e3:>9.3g} "
        f"{ms.get('tvm', '-'):>8} {ms.get('onnxruntime', '-'):>8} {ms.get('openvino', '-'):>8} {ms.get('greedy', '-'):>8} "
        f"{verify['max_rel_error']:>9.1e} {seconds:>7.0f}  {'+'.join(targets)}"
    )


def main() -> int:
    """Run the cases in the arguments, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="only these")
    wanted = parser.parse_args().names
    header = ("model", "parts", "total", "measured", "tvm", "ort", "openvino", "greedy", "error", "took s", "targets")
    print("{:<14} {:>4} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>9} {:>7}  {}".format(*header), flush=True)
    failures = 0
    for case in cases():
        if wanted and case.name not in wanted:
            continue
        with tempfile.TemporaryDirectory(prefix="collage-acceptance-") as scratch:
            began = time.monotonic()
            document, wrong = check(case, Path(scratch))
            if document:
                print(row(case, document, time.monotonic() - began), flush=True)
            for problem in wrong:
                failures += 1
                print(f"{case.name:<14} WRONG: {problem}", flush=True)
    print(f"milliseconds, {os.cpu_count()} cores; {failures} failures", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
