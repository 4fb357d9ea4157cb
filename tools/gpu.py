"""`make gpu`: finds the GPUs of this machine, checks the toolchains that compute on them, and measures the suite with and without them.

A folder of wheels may enter, for a machine without a network: it is installed into a new environment, the package of ONNX Runtime for GPUs
last. For each model `collage partition` measures each toolchain alone, its parts, and the plan over both devices. A cost database and a
folder for each run leave, which `collage costs import` and the page read elsewhere. Without a usable toolchain of a GPU it says why and
ends with status 0: nothing is wrong then.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MODELS = ("resnet50", "yolov4_tiny", "ssd300", "retinanet", "crnn", "unet_attention", "speech_transformer")
HOST_TARGETS = ("onnxruntime", "openvino", "ncnn", "tvm")
CONFORMANCE = "tests/collage_core/toolchains/test_conformance.py"
LONGEST_S = 3600.0


def installed(wheels: Path, environment: Path) -> Path:
    """Make an environment of the wheels in `wheels` alone, and return its Python."""
    venv.create(environment, with_pip=True, clear=True)
    python = environment / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    install = [*pip, "install", "--no-index", "--find-links", str(wheels)]
    subprocess.run([*install, "collage-explorer", "pytest", "hypothesis"], check=True)
    subprocess.run([*pip, "uninstall", "--yes", "onnxruntime"], check=True)  # The package for GPUs has the same module.
    subprocess.run([*install, "onnxruntime-gpu", "cuda-bindings"], check=True)
    return python


def gpu_targets(toolchains: Sequence[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the names of the usable toolchains of GPUs, and a line for each other one that says what it lacks."""
    on_gpus = [toolchain for toolchain in toolchains if toolchain["device"] not in ("CPU", "described")]
    usable = [toolchain["name"] for toolchain in on_gpus if toolchain["usable"]]
    return usable, [f"{toolchain['name']}: {toolchain['reason']} ({toolchain['hint']})" for toolchain in on_gpus if not toolchain["usable"]]


def row(document: dict[str, Any], targets: Sequence[str]) -> str:
    """Return the line of one run: the best toolchain alone, the plan, and how many of its nodes each target has."""
    alone = {
        baseline["name"]: baseline["measured_s"]
        for baseline in document["baselines"]
        if baseline["name"] in targets and baseline["measured_s"] is not None
    }
    plan_s = document["verify"]["measured_s"]
    nodes = {name: sum(len(part["nodes"]) for part in document["plan"]["partitions"] if part["target"] == name) for name in targets}
    placed = ", ".join(f"{count} on {name}" for name, count in nodes.items() if count)
    if not alone or plan_s is None:
        return f"{placed}; not measured"
    best = min(alone, key=lambda name: alone[name])
    return f"{best} alone {1e3 * alone[best]:.3f} ms, plan {1e3 * plan_s:.3f} ms, {alone[best] / plan_s:.2f} times; {placed}"


def measure(collage: Sequence[str], targets: Sequence[str], models: Sequence[str], out: Path) -> bool:
    """Measure each model, print a line for each, and return whether all could be."""
    is_whole = True
    for model in models:
        options = ["--targets", ",".join(targets), "--costs-db", str(out / "costs.db"), "--out", str(out / model), "--json"]
        done = subprocess.run([*collage, "partition", model, *options], stdout=subprocess.PIPE, text=True, timeout=LONGEST_S)
        is_whole &= done.returncode == 0
        print(f"{model}: " + (row(json.loads(done.stdout), targets) if done.returncode == 0 else f"failed with status {done.returncode}"))
    return is_whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status: 1 where something that is there failed."""
    parser = argparse.ArgumentParser(prog="make gpu", description="Measure on the GPUs of this machine.")
    parser.add_argument("--wheels", type=Path, help="install from this folder alone, with the wheel of this project (make wheel) in it")
    parser.add_argument("--out", type=Path, default=ROOT / "gpu", help="folder of the cost database and of the runs")
    parser.add_argument("--models", nargs="+", default=MODELS, help="samples or files")
    asked = parser.parse_args(arguments)
    python = str(installed(asked.wheels, asked.out / "environment") if asked.wheels else sys.executable)
    collage = [str(Path(python).parent / "collage")]
    listed = subprocess.run([*collage, "toolchains", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    toolchains = json.loads(listed.stdout)["toolchains"]
    usable, lacking = gpu_targets(toolchains)
    for line in lacking:
        print(f"not usable: {line}")
    if not usable:
        print("gpu: no toolchain can compute on a GPU here, so there is nothing to measure")
        return 0
    print(f"gpu: {', '.join(usable)}")
    asked.out.mkdir(parents=True, exist_ok=True)
    conforms = subprocess.run([python, "-m", "pytest", "-q", CONFORMANCE, "-k", "cuda or gpu or npu"], cwd=ROOT).returncode == 0
    hosts = [toolchain["name"] for toolchain in toolchains if toolchain["name"] in HOST_TARGETS and toolchain["usable"]]
    precise = {toolchain["name"] for toolchain in toolchains if toolchain["precision"] in ("model", "float32")}
    exact = [name for name in usable if name in precise and ("@" not in name or "@graph:" in name)]
    is_whole = measure(collage, [*hosts, *exact], asked.models, asked.out)
    return 0 if conforms and is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
