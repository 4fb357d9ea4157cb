"""Toolchains and functions for workers in tests: they wait for the test, end their worker, or pass for another machine.

`main` is a false worker: an RPC server of TVM's own that registers with a tracker and gives invalid answers.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import psutil
from collage_test_toolchains import Numpy

from collage_core.base import processor
from collage_core.cost.database import records
from collage_core.cost.fleet.protocol import ASK, PUT
from collage_core.cost.fleet.request_handler import describe

FOLDER = "COLLAGE_TEST_FOLDER"
"""Environment variable with the folder through which workers and the test exchange files."""
ANSWER = "COLLAGE_TEST_ANSWER"
"""Environment variable that names one of `INVALID_ANSWERS`."""


class Waits(Numpy):
    """Tells the test that a build has begun, and waits until the test lets it continue."""

    name = "waits"

    def spoil_build(self) -> None:
        folder = Path(os.environ[FOLDER])
        (folder / f"begun-{os.getpid()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)


class EndsItsSession(Numpy):
    """Kills the session, which is above the process that its own is forked from."""

    name = "ends_its_session"

    def spoil_build(self) -> None:
        psutil.Process().parents()[1].kill()


class OtherMachine(Numpy):
    """A worker that knows this toolchain passes for another machine."""

    name = "other_machine"

    def __init__(self) -> None:
        processor.name = lambda: "Another CPU"


def give_text(words: str) -> str:
    return words


@contextmanager
def call_rounds(target: str, threads: int) -> Iterator[Callable[[], float]]:
    """Say that each call takes 2 µs longer in an assembled module."""
    yield lambda: 2e-6


def give_object() -> object:
    return object()


def give_nan() -> float:
    return float("nan")


# Invalid answers to a trial, by name.
RECORD = asdict(records.Record(samples=(1e-9,), error=0.0, reference_s=1e-3))
INVALID_ANSWERS = {
    "no_json": "\x80\x05K\x01.",
    "a_list": "[1, 2]",
    "no_record": json.dumps({"record": None}),
    "nan": json.dumps({"record": {**RECORD, "samples": [float("nan")]}}),
    "text_for_numbers": json.dumps({"record": {**RECORD, "samples": "abc"}}),
    "longer_than_it_took": json.dumps({"record": {**RECORD, "samples": [9000.0]}}),
    "a_failure_with_samples": json.dumps({"record": {**RECORD, "stage": "build", "reason": "x"}}),
    "an_unknown_stage": json.dumps({"record": {**RECORD, "samples": [], "stage": "lunch", "reason": "x"}}),
}


def answer_invalidly() -> None:
    """Register functions under the names of a worker's, in TVM's own RPC server."""
    import tvm_ffi

    answer = INVALID_ANSWERS[os.environ[ANSWER]]

    def ask(request: bytes) -> str:
        wanted, *arguments = pickle.loads(request)
        if wanted == "need":
            return json.dumps({"missing": []})
        if wanted == "start" and arguments[0] == "describe":
            return json.dumps({"description": describe("liar")})
        return json.dumps({"state": "idle"}) if wanted != "start" else answer

    tvm_ffi.register_global_func(ASK, ask, override=True)
    tvm_ffi.register_global_func(PUT, lambda data: "{}", override=True)


def main() -> None:
    """``TRACKER_PORT KEY [ANSWER]``: without the last, the RPC server has none of a worker's functions."""
    from tvm import rpc

    port, key, *answer = sys.argv[1:]
    if answer:
        os.environ[ANSWER] = answer[0]
    server = rpc.Server(
        "127.0.0.1", key=key, tracker_addr=("127.0.0.1", int(port)), server_init_callback=answer_invalidly if answer else None
    )
    server.proc.join()


if __name__ == "__main__":
    main()
