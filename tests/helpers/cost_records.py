"""Records of costs to test with, and what is done to every kind of cost database alike."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.records import CostKey, Record, TransitionKey
from tests.helpers.paths import PLUGINS

KEY = CostKey("c0ffee", "tvm", "0.27", 1, "a CPU, 2 cores", "float32")
RECORD = Record(samples=(1e-3, 1.1e-3), error=3e-7, reference_s=1e-5 / 3, created="2026-01-01T00:00:00+00:00")
FAILED = Record(stage="build", reason="crashed with SIGSEGV while building", crashed=True, limit_s=2.5, created=RECORD.created)
PAIR = TransitionKey("tvm", "onnxruntime", "0.27", "1.31", 1, "a CPU, 2 cores")

SCHEMA_1 = (Path(__file__).parent / "data" / "costs_schema_1.sql").read_text()
COSTS_OF_SCHEMA_1, PAIRS_OF_SCHEMA_1 = 14, 2

PROCESSES = PLUGINS / "cost_processes.py"


def put_many(where: str | Path, owner: str, count: int) -> list[str]:
    with CostDatabase(where) as database:
        for index in range(count):
            database.put(replace(KEY, computation=f"{owner}{index}"), RECORD)
        return database.notes


def start_writer(where: str | Path, owner: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, PROCESSES, "put", str(where), owner], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def kill_writers(where: str | Path, after: int) -> list[set[str]]:
    """Two processes put costs, and are killed with no warning after so many; what each had been told was kept."""
    writers = [start_writer(where, owner) for owner in ("a", "b")]
    told = []
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stderr is not None
        lines = [writer.stdout.readline() for _ in range(after)]
        writer.kill()
        lines += writer.stdout.readlines()
        assert (writer.wait(), writer.stderr.read()) == (-signal.SIGKILL, "")
        told.append({line.strip() for line in lines if line.endswith("\n")})
    assert all(len(kept) >= after for kept in told)
    return told


def computations(where: str | Path) -> set[str]:
    from collage_core.cost.database.maintenance import Selection, records

    with CostDatabase(where, read_only=True) as database:
        return {key.computation for key, _ in records(database, Selection())}


def assert_nothing_lost(where: str | Path, told: Iterable[set[str]]) -> None:
    """All that was told is there, and at most one more of each writer, which had no time to tell."""
    there = computations(where)
    for kept in told:
        owner = next(iter(kept))[0]
        assert kept <= there
        assert len({name for name in there if name[0] == owner} - kept) <= 1


def deaths_while_brought_forward(where: str | Path) -> int:
    """Kill the process at every statement of the migration; after each, all is as before or all is as after."""
    ran = subprocess.run([sys.executable, PROCESSES, "forward", str(where)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    *states, done = ran.stdout.splitlines()
    assert done == "done"
    counts = f"{COSTS_OF_SCHEMA_1} {PAIRS_OF_SCHEMA_1}"
    before = [state for state in states if state == f"1 {counts}"]
    assert states == before + [f"2 {counts}"] * (len(states) - len(before))
    return len(before)


def all_at_once(count: int, work: Callable[[int], None]) -> None:
    """Do `work` in as many threads, all of which begin together; what one raises is raised here."""
    barrier = Barrier(count)

    def begin(number: int) -> None:
        barrier.wait(timeout=60)
        work(number)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(begin, range(count)))
