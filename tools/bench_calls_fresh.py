"""Programs for `make bench-calls` that run in fresh processes: ONNX Runtime without anything of ours, and artifacts that open.

Paths of models and artifacts enter; seconds leave.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from collage_core.rewrite.runtime.manifest import MODULE

STEPS = ("import", "session", "call")
ONNXRUNTIME_ALONE = """
import json, sys, time
import numpy as np
begin = time.perf_counter()
import onnxruntime as ort
imported = time.perf_counter()
options = ort.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
session = ort.InferenceSession(sys.argv[1], options)
made = time.perf_counter()
feed = {"x": np.load(sys.argv[1] + ".npy")}
samples = []
for _ in range(500):
    start = time.perf_counter()
    session.run(None, feed)
    samples.append(time.perf_counter() - start)
print(json.dumps([imported - begin, made - imported, sorted(samples)[250]]))
"""
"""ONNX Runtime without anything of ours, whose package turns its telemetry off."""

MOST_LATER_S = 0.3
"""Most seconds by which a process that opens an artifact may start later than one with its toolchains alone."""
ALONE = """
import sys
import numpy as np
{more}
import onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = 1
ort.InferenceSession(sys.argv[1] + "/alone.onnx", options).run(None, {{"x": np.load(sys.argv[1] + "/x.npy")}})
"""
"""A user's own program; a module also needs TVM's virtual machine, which is a toolchain of it."""
ARTIFACT = """
import sys
import numpy as np
from collage_core import Artifact
Artifact(sys.argv[1]).run({"x": np.load(sys.argv[1] + "/x.npy")})
"""


def alone_s(path: Path, threads: int, *, is_off: bool) -> list[float]:
    """Return the seconds of `STEPS` in a fresh process, whose home is the folder of the model."""
    home = {name: str(path.parent) for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"} | home
    environment |= {"ORT_DISABLE_TELEMETRY": "1"} if is_off else {}
    command = [sys.executable, "-c", ONNXRUNTIME_ALONE, str(path), str(threads)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=120)
    return list(map(float, json.loads(done.stdout)))


def start_s(folder: Path, form: str, count: int) -> tuple[list[float], list[float]]:
    """Return the seconds of processes with ONNX Runtime alone, and of those that run the artifact in `folder`, in turns."""
    programs = ALONE.format(more="import tvm.runtime.vm" if form == MODULE else ""), ARTIFACT
    for program in programs:  # once before it counts: what is on the disk is in memory then
        _ended_s(program, folder)
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(count):
        for which in (0, 1) if number % 2 else (1, 0):
            seconds[which].append(_ended_s(programs[which], folder))
    return seconds


def _ended_s(program: str, folder: Path) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True, capture_output=True, timeout=120)
    return time.perf_counter() - begin
