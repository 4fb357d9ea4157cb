"""Importing the package changes the process: no toolchain's telemetry runs in it, or in those that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from collage_core.model.samples.registry import SAMPLES
from collage_core.toolchains.registry import get
from tests.helpers.command import environment
from tests.helpers.paths import PLUGINS, ROOT

SESSION = """
import sys
import collage_core
import onnxruntime
onnxruntime.InferenceSession(sys.stdin.buffer.read())
"""


def test_onnx_runtime_keeps_nothing_about_the_users_models(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / "data")}
    model = SAMPLES["mini_mnist"].build().SerializeToString()
    subprocess.run([sys.executable, "-c", SESSION], input=model, env=environment, check=True, timeout=120)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


SHIM = ROOT / "tests" / "helpers" / "network_log.cpp"
RUN = """
import brief_runs
from collage_core.cli.main import main
brief_runs.shorten(brief_runs.set_existing)
main(sys.argv[1:])
"""
BUILDS = """
from collage_core.base.isolation.worker import Worker
import worker_functions
for target in sys.argv[2:]:
    with Worker() as worker:
        worker.call(worker_functions.build_and_load, target, sys.argv[1], timeout_s=60)
"""
EXPLORE = """
import json, re, subprocess, time, urllib.request
program, model, *targets = sys.argv[1:]
explorer = subprocess.Popen([sys.executable, program, "explore", model, "--no-browser"], stdout=subprocess.PIPE, text=True)
address, token = next(found.groups() for line in explorer.stdout if (found := re.search(r"(http://[^ ]+/)[?]token=([^ ]+)", line)))

def answer(where, **body):
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(address + where, data, {"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
    return urllib.request.urlopen(request, timeout=60).read()

try:
    print(b"<script" in answer(""))
    opened = json.loads(answer("api/v1/models", path=model))
    run = json.loads(answer("api/v1/runs", model=opened["id"], targets=targets, threads=1, budget_s=1.0))
    while run["state"] in ("queued", "running"):
        time.sleep(0.1)
        run = json.loads(answer(f"api/v1/runs/{run['id']}"))
    print(run["state"], run["plan"] is not None)
finally:
    explorer.terminate()
    explorer.wait(timeout=60)
"""
ASKS = """
from collage_core.base.isolation.worker import Worker
import worker_functions
with Worker() as worker:
    print(worker.call(worker_functions.ask_outside, timeout_s=60))
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that writes down every look-up and connection of a process that it is preloaded into, and refuses it."""
    built = tmp_path_factory.mktemp("shim") / "network_log.so"
    subprocess.run(["c++", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", built, SHIM, "-ldl"], check=True, timeout=120)
    return built


def watched(shim: Path, folder: Path, code: str, *arguments: str | Path) -> tuple[str, list[str], list[str]]:
    """Run Python code in a process: its output, the processes that started in and below it, and what they asked the network for."""
    (folder / "user").mkdir()
    log = folder / "network.log"
    own = {"HOME": str(folder / "user"), "LD_PRELOAD": str(shim), "LD_NETWORK_LOG": str(log)}
    given = {name: value for name, value in environment(folder / "home", **own).items() if name not in ("ORT_DISABLE_TELEMETRY", "CI")}
    command = [sys.executable, "-c", f"import sys{code}", *map(str, arguments)]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    lines = log.read_text().splitlines()
    return done.stdout, [line for line in lines if line.startswith("started ")], [line for line in lines if not line.startswith("started ")]


QUICK = ("onnxruntime", "openvino", "ncnn")


@pytest.mark.parametrize(
    ("code", "before", "after", "names", "answers"),
    [
        pytest.param(BUILDS, (), (), QUICK, None, id="a worker for each toolchain"),
        pytest.param(BUILDS, (), (), ("tvm",), None, id="a worker for TVM", marks=pytest.mark.long),
        pytest.param(RUN, ("partition",), ("--threads", "1", "--targets"), QUICK, None, id="a run", marks=pytest.mark.long),
        pytest.param(
            EXPLORE, (PLUGINS / "brief_explorer.py",), (), QUICK[:1], "True\ndone True\n", id="a page and its run", marks=pytest.mark.long
        ),
    ],
)
def test_no_process_of_ours_looks_a_name_up_or_connects_outside(
    shim: Path, chain: Path, tmp_path: Path, code: str, before: tuple[str, ...], after: tuple[str, ...], names: tuple[str, ...],
    answers: str | None,
) -> None:  # fmt: skip
    """Nor does one leave a file in the user's home: a client's number or a database of events."""
    targets = [name for name in names if get(name).availability().usable]
    named = [",".join(targets)] if code is RUN else targets
    said, started, asked = watched(shim, tmp_path, code, *before, chain, *after, *named)
    assert answers in (None, said)
    assert len([line for line in started if "python" in line]) > len(targets) + 1, "the workers are watched, too"
    assert asked == []
    assert [path for path in (tmp_path / "user").rglob("*") if path.is_file()] == []


def test_a_worker_that_asks_outside_is_seen(shim: Path, tmp_path: Path) -> None:
    said, started, asked = watched(shim, tmp_path, ASKS)
    assert said == "['gaierror', 'ENETUNREACH', 'ENETUNREACH']\n"
    assert len(started) > 2
    assert asked == ["look-up collage.invalid 0", "connection 192.0.2.1 80", "datagram 2001:db8::1 53"]
