"""`make bench-size`: what a model of several gigabytes takes in memory, time and disk; prints a table, and fails when a budget is not kept.

It writes a sparse transformer into a temporary folder, opens it as the page does, partitions it with an artifact, and opens a larger one in
the page itself, in Chromium; then it removes everything.
The memory of a process is what is its own: the maps of the model's files, which all processes share and the system can drop, do not count.
docs/benchmarks.md says what is measured and how.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from bench_opening import seconds_to_open
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.explorer import launch, running, with_token  # noqa: E402
from tests.helpers.large_models import Sizes, write_transformer  # noqa: E402

NODES_A_LAYER = 29
NODES = 2000
OPEN_S = 5.0
MOST_A_WORKER = 1.3
"""Budgets: seconds until facts and graph are there, or drawn in the page, and memory of a worker as a multiple of the weights."""
SAMPLED_S = 0.05
WORKER = "isolation.child"
"""Part of the command of a worker process."""
MIB, GB = 2**20, 1e9
OPEN = "import sys; from collage_server.worker.load_model import load; print(load(sys.argv[1], None, {}, {}, None, sys.argv[2])['nodes'])"


@dataclass
class Watched:
    """The memory and the disk that a process and its children take, sampled until they end.

    Attributes:
        workers: Process id → most bytes that were its own at once, of the processes in which toolchains run.
        others: The same of all others, such as the one that plans.
        together: Most bytes of all at once.
        disk: Most bytes under the watched folder at once.
    """

    workers: dict[int, int] = field(default_factory=dict)
    others: dict[int, int] = field(default_factory=dict)
    together: int = 0
    disk: int = 0

    def sample(self, process: psutil.Process) -> None:
        """Note what the process and its children have now."""
        together = 0
        for one in [process, *process.children(recursive=True)]:
            with suppress(psutil.Error):
                memory = one.memory_info()
                mine = memory.rss - memory.shared
                together += mine
                known = self.workers if one.pid in self.workers or WORKER in " ".join(one.cmdline()) else self.others
                known[one.pid] = max(known.get(one.pid, 0), mine)
        self.together = max(self.together, together)


@contextmanager
def watching(process: subprocess.Popen[str], folder: Path) -> Iterator[Watched]:
    """Sample what `process` and its children take, and what is under `folder`, in a thread."""
    seen, ended = Watched(), threading.Event()

    def look() -> None:
        watched, turn = psutil.Process(process.pid), 0
        while not ended.wait(SAMPLED_S):
            with suppress(psutil.Error):
                seen.sample(watched)
            if turn % 20 == 0:
                seen.disk = max(seen.disk, on_disk(folder))
            turn += 1

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def on_disk(folder: Path) -> int:
    """Return the bytes that the files under `folder` take of the disk: holes take none."""
    taken = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            taken += path.lstat().st_blocks * 512
    return taken


def run(command: list[str], folder: Path, environment: Mapping[str, str]) -> tuple[str, float, Watched]:
    """Run a command to its end; returns its output, its seconds, and what it took."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        with watching(process, folder) as seen:
            output, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"{' '.join(command[:3])} … ended with status {process.returncode}")
    return output, time.perf_counter() - began, seen


def sizes_of(gigabytes: float, nodes: int, is_dense: bool) -> Sizes:
    """Return the sizes of a transformer of about so many nodes and bytes."""
    layers = max(1, nodes // NODES_A_LAYER)
    width = max(64, round((gigabytes * GB / (48 * layers)) ** 0.5 / 64) * 64)
    return Sizes(layers=layers, width=width, heads=width // 64, length=16, random_values=None if is_dense else 1024)


def check_room(sizes: Sizes, in_page: Sizes, folder: Path, is_dense: bool) -> None:
    """Stop where the machine has not the memory or the disk for the model that is partitioned, and the one that the page opens."""
    free, disk = psutil.virtual_memory().available, psutil.disk_usage(str(folder)).free
    needed = int(sizes.weight_bytes * MOST_A_WORKER * 2)
    if free < needed:
        raise SystemExit(f"{needed / GB:.1f} GB of memory are needed, {free / GB:.1f} GB are free: take a smaller model (--gigabytes)")
    written = 3 * sizes.weight_bytes + in_page.weight_bytes
    if is_dense and disk < written:
        raise SystemExit(f"{written / GB:.1f} GB of disk are needed, {disk / GB:.1f} GB are free under {folder}")


def opened(model: Path, home: Path, name: str) -> dict[str, float]:
    """Open the model as the page does, in a process of its own; the figures."""
    out = home / f"opened-{name}"
    out.mkdir(parents=True)
    output, seconds, seen = run([sys.executable, "-c", OPEN, str(model), str(out)], home, {"COLLAGE_HOME": str(home)})
    return {"seconds": seconds, "nodes": int(output.split()[-1]), "own_bytes": max(seen.others.values(), default=0)}


def opened_in_page(folder: Path, sizes: Sizes) -> dict[str, float]:
    """Write a model into `folder`, and open it in the page twice; the figures. The second time its digest is known."""
    folder.mkdir()
    home = folder / "home"
    home.mkdir()
    model = write_transformer(folder, sizes)
    with (
        running(home) as explorer,
        sync_playwright() as playwright,
        launch(playwright) as browser,
        watching(explorer.process, home) as seen,
    ):
        first, again = (seconds_to_open(browser, with_token(explorer.address), model) for _ in range(2))
    own_bytes = max((*seen.workers.values(), *seen.others.values()), default=0)
    return {"weight_bytes": sizes.weight_bytes, "first_s": first, "again_s": again, "own_bytes": own_bytes}


def partitioned(model: Path, home: Path, options: argparse.Namespace) -> dict[str, float]:
    """Partition the model on the command line, with an artifact; the figures."""
    out = home / "artifact"
    command = [str(ROOT / ".venv/bin/collage"), "partition", str(model), "--targets", options.targets, "--budget", options.budget]
    scratch = home / "tmp"
    scratch.mkdir()
    environment = {"COLLAGE_HOME": str(home), "TMPDIR": str(scratch)}
    output, seconds, seen = run([*command, "--out", str(out), "--json"], home, environment)
    document = json.loads(output)
    return {
        "seconds": seconds,
        "partitions": len(document["plan"]["partitions"]),
        "max_rel_error": document["verify"]["max_rel_error"],
        "own_bytes": max(seen.others.values(), default=0),
        "worker_bytes": max(seen.workers.values(), default=0),
        "together_bytes": seen.together,
        "disk_bytes": seen.disk,
        "artifact_bytes": sum(path.stat().st_size for path in out.rglob("*") if path.is_file()),
        "costs_bytes": sum(path.stat().st_size for path in home.glob("costs*")),
    }


def report(sizes: Sizes, figures: Mapping[str, Mapping[str, float]]) -> int:
    """Print the tables and the budgets; returns how many are not kept."""
    weights = sizes.weight_bytes
    first, again, whole = figures["first"], figures["again"], figures["partition"]
    print(f"{int(first['nodes'])} nodes, {weights / GB:.2f} GB of weights\n")
    for name, one in (("open, first", first), ("open, again", again), ("partition", whole)):
        print(f"{name:<12} {one['seconds']:7.1f} s   {one['own_bytes'] / MIB:7.0f} MiB in the process itself")
    page = figures["page"]
    print(f"\nin the page, {page['weight_bytes'] / GB:.2f} GB of weights, from the click on Open until the nodes are drawn:")
    print(f"first {page['first_s']:.1f} s, again {page['again_s']:.1f} s, {page['own_bytes'] / MIB:.0f} MiB in one process at most")
    worker, together = whole["worker_bytes"], whole["together_bytes"]
    print(f"\nworkers: at most {worker / MIB:.0f} MiB in one, {worker / weights:.2f} of the weights; all together {together / MIB:.0f} MiB")
    artifact, taken, costs = whole["artifact_bytes"] / GB, whole["disk_bytes"] / GB, whole["costs_bytes"] / MIB
    print(f"disk: artifact {artifact:.2f} GB with its holes, {taken:.3f} GB taken at most; costs {costs:.2f} MiB\n")
    budgets = (
        (f"opens within {OPEN_S:g} s", first["seconds"] <= OPEN_S),
        (f"opens in the page within {OPEN_S:g} s", page["first_s"] <= OPEN_S),
        (f"no worker takes more than {MOST_A_WORKER:g} times the weights", whole["worker_bytes"] <= MOST_A_WORKER * weights),
        ("the process that plans holds no weights", whole["own_bytes"] <= max(0.3 * weights, 600 * MIB)),
        ("no weights in the cost database", whole["costs_bytes"] <= max(0.01 * weights, 20 * MIB)),
        ("the artifact holds each weight once", whole["artifact_bytes"] <= 1.1 * weights + 50 * MIB),
    )
    for name, is_kept in budgets:
        print(f"{'PASS' if is_kept else 'FAIL'}  {name}")
    return sum(not is_kept for _, is_kept in budgets)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=3.0, help="size of the weights")
    parser.add_argument("--page-gigabytes", type=float, default=4.0, help="the same of the model that is opened in the page")
    parser.add_argument("--nodes", type=int, default=NODES, help="about how many nodes")
    parser.add_argument("--dense", action="store_true", help="random values throughout: takes as much disk, and time to write")
    parser.add_argument("--targets", default="onnxruntime,openvino")
    parser.add_argument("--budget", default="60s", help="time for measuring")
    parser.add_argument("--json", type=Path, help="write the figures into this file, too")
    options = parser.parse_args()
    sizes, in_page = (sizes_of(size, options.nodes, options.dense) for size in (options.gigabytes, options.page_gigabytes))
    with tempfile.TemporaryDirectory(prefix="collage-size-") as name:
        folder = Path(name)
        check_room(sizes, in_page, folder, options.dense)
        model = write_transformer(folder, sizes)
        home = folder / "home"
        figures = {"first": opened(model, home, "first"), "again": opened(model, home, "again")}
        figures["page"] = opened_in_page(folder / "page", in_page)
        figures["partition"] = partitioned(model, home, options)
    if options.json:
        options.json.write_text(json.dumps({"weight_bytes": sizes.weight_bytes, **figures}, indent=1) + "\n")
    return 1 if report(sizes, figures) else 0


if __name__ == "__main__":
    sys.exit(main())
