"""Records of costs for tests, and checks that every kind of cost database must pass."""

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
from collage_core.cost.database.records import CostKey, Record, TransitionKey, TuningKey, TuningRecord
from tests.helpers.paths import PLUGINS

KEY = CostKey("c0ffee", "tvm", "0.27", 1, "a CPU, 2 cores", "float32")
RECORD = Record(samples=(1e-3, 1.1e-3), error=3e-7, reference_s=1e-5 / 3, created="2026-01-01T00:00:00+00:00")
FAILED = Record(stage="build", reason="crashed with SIGSEGV while building", crashed=True, limit_s=2.5, created=RECORD.created)
PAIR = TransitionKey("tvm", "onnxruntime", "0.27", "1.31", 1, "a CPU, 2 cores")
KERNEL = TuningKey("0123456789abcdef", '{"kind": "llvm", "mcpu": "a CPU"}', "tvm", "0.27", 1, "a CPU, 2 cores")
PROFILE = (((0, 2), 1e-4), ((1,), 2e-4), ((), 1e-5))
TUNED = TuningRecord('[[["GetSBlock"]],[]]' + " " * 30_000, 1e-4, 2e-4, 32, 7.5, RECORD.created)
"""Its trace is longer than any other text may be."""

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
    """Let two processes put costs, and kill them after so many; return the computations that each reported as kept."""
    writers = [start_writer(where, owner) for owner in ("a", "b")]
    reported = []
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stderr is not None
        lines = [writer.stdout.readline() for _ in range(after)]
        writer.kill()
        lines += writer.stdout.readlines()
        assert (writer.wait(), writer.stderr.read()) == (-signal.SIGKILL, "")
        reported.append({line.strip() for line in lines if line.endswith("\n")})
    assert all(len(kept) >= after for kept in reported)
    return reported


def computations(where: str | Path) -> set[str]:
    from collage_core.cost.database.maintenance import Selection, records

    with CostDatabase(where, read_only=True) as database:
        return {key.computation for key, _ in records(database, Selection())}


def assert_nothing_lost(where: str | Path, reported: Iterable[set[str]]) -> None:
    """Assert that all reported costs are there, and at most one more of each writer, which it had no time to report."""
    there = computations(where)
    for kept in reported:
        owner = next(iter(kept))[0]
        assert kept <= there
        assert len({name for name in there if name[0] == owner} - kept) <= 1


def kills_while_tables_are_made(where: str | Path) -> int:
    """Kill a process at every statement of the first opening; return the number of kills, after each of which there was no table."""
    ran = subprocess.run([sys.executable, PROCESSES, "make", str(where)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    *tables, done = ran.stdout.splitlines()
    assert (set(tables), done) == ({"0"}, "done")
    return len(tables)


def all_at_once(count: int, work: Callable[[int], None]) -> None:
    """Do `work` in `count` threads that begin together; raise what one of them raises."""
    barrier = Barrier(count)

    def begin(number: int) -> None:
        barrier.wait(timeout=60)
        work(number)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(begin, range(count)))
