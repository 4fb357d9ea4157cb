"""Fuzzes borders for some time: ``python -m tests.fuzz [--only NAME] [--seconds 60] [--seed 1]``; exit status 1 where something was found.

Each input is made from the number of its turn, so a finding is made again from what is printed with it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import FrameType

from collage_core.errors import CollageError
from tests.fuzz.borders import BORDERS, MODEL_S, WORKER, Border
from tests.fuzz.damage import damaged
from tests.fuzz.server_borders import SERVERS
from tests.helpers.paths import ROOT

CORPUS = Path(__file__).parent / "corpus"
FOUND = ROOT / ".make" / "fuzz"
INPUT_S = 20
"""Longest that one input may take."""
SLOW = ("model", "relax", "loaded")
"""Borders with a bound of their own (`MODEL_S`): they run in a worker, which may have to start."""


def seeds(name: str) -> list[bytes]:
    """Return the seeds of the border `name`, in the order of their names."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def made_input(name: str, kept: list[bytes], seed: int, turn: int) -> bytes:
    """Return the input of that turn: first the seeds themselves, then what damage makes of them."""
    if turn < len(kept):
        return kept[turn]
    draw = random.Random(f"{name} {seed} {turn}")
    return damaged(draw.choice(kept), draw)


def attempt(border: Border, data: bytes, limit_s: float = INPUT_S) -> str:
    """Return the traceback of what `border` should not have raised at `data`; empty where all is well."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it took longer than {limit_s} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        with tempfile.TemporaryDirectory() as folder:
            border(data, Path(folder))
    except CollageError as error:
        return f"more than one line: {error.message!r}" if "\n" in error.message or len(error.message) > 5000 else ""
    except Exception:  # noqa: BLE001 - all others are what is looked for
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return ""


def fuzz(name: str, seconds: float, seed: int) -> int:
    """Fuzz one border; return how many different faults were found, each of which is kept in `FOUND`."""
    kept, faults, turn, end = seeds(name), set[str](), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        data = made_input(name, kept, seed, turn)
        said = attempt(BORDERS[name], data, MODEL_S + INPUT_S if name in SLOW else INPUT_S)
        where = "\n".join(line for line in said.splitlines() if line.startswith("  File"))[-300:] or said
        if said and where not in faults:
            faults.add(where)
            FOUND.mkdir(parents=True, exist_ok=True)
            path = FOUND / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
            print(f"{name}, seed {seed}, turn {turn}: {path}\n{said}", flush=True)
        turn += 1
    print(f"{name}: {turn} inputs, {len(faults)} faults", flush=True)
    return len(faults)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="fuzz the borders")
    parser.add_argument("--only", choices=BORDERS, help="one border alone")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each border (60)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["COLLAGE_HOME"] = home
        with WORKER, SERVERS:
            found = sum(fuzz(name, given.seconds, given.seed) for name in ([given.only] if given.only else BORDERS))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
