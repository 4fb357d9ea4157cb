"""Processes that use a cost database. ``put WHERE OWNER`` writes until it is killed; ``make WHERE`` kills a child at every statement
in turn of the first opening; ``measure WHERE`` continues as a user who may not write."""

from __future__ import annotations

import os
import signal
import sys
import time
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from collage_core.cost.database.database import CostDatabase, open_database
from collage_core.cost.database.location import is_url
from collage_core.cost.database.records import CostKey, Record

NOBODY = 65534
PAUSE_S = 0.01
"""A writer that never paused would hold the lock nearly always, where the disk is slow, and the other might find it locked each time."""


def put(where: str | Path, owner: str) -> None:
    """Print each computation as soon as it was kept, and let another process write now and then."""
    with CostDatabase(where) as database:
        for number in count():
            database.put(CostKey(f"{owner}{number}", "tvm", "1", 1, "a CPU"), Record(samples=(1e-3,) * 50))
            if database.notes:
                sys.exit(database.notes[0])
            print(f"{owner}{number}", flush=True)
            time.sleep(PAUSE_S)


def make(where: str | Path) -> None:
    """Print the number of tables after each kill; at the end, ``done``."""
    for number in count():
        child = os.fork()
        if child == 0:
            kill_at(number)
            CostDatabase(where).close()
            os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            print("done")
            return
        print(count_tables(where), flush=True)


def kill_at(number: int) -> None:
    statements = count()

    @event.listens_for(Engine, "before_cursor_execute")
    def before(*_: Any) -> None:
        if next(statements) == number:
            os.kill(os.getpid(), signal.SIGKILL)


def measure(where: str | Path) -> None:
    """Print the computations known of a0 and b0 before and after putting b0, and the notes."""
    known, other = (CostKey(name, "tvm", "0.27", 1, "a CPU, 2 cores", "float32") for name in ("a0", "b0"))
    with TemporaryDirectory() as warm_up:  # Python's own files may be out of reach afterwards
        put_one(Path(warm_up) / "costs", other)
        with CostDatabase(Path(warm_up) / "costs", read_only=True) as database:
            database.get([other])
    if os.geteuid() == 0:  # whom no file refuses
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    with open_database(where) as database:
        print(sorted(key.computation for key in database.get([known, other])))
        database.put(other, Record(samples=(1.0,)))
        print(sorted(key.computation for key in database.get([known, other])))
    print(*database.notes, sep="\n")


def put_one(path: Path, key: CostKey) -> None:
    with open_database(path) as database:
        database.put(key, Record(samples=(1.0,)))


def count_tables(where: str | Path) -> int:
    """Count the tables without `CostDatabase`."""
    from sqlalchemy import create_engine, inspect

    engine = create_engine(str(where).replace("postgresql:", "postgresql+psycopg:") if is_url(where) else f"sqlite:///{where}")
    count = len(inspect(engine).get_table_names())
    engine.dispose()
    return count


if __name__ == "__main__":
    mode, where, *rest = sys.argv[1:]
    {"put": put, "make": make, "measure": measure}[mode](where, *rest)
