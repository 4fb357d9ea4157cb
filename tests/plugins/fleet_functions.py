"""What the fleet's tests let workers run: toolchains that wait for the test, end their worker, or pass for another machine.

`main` is a worker that is none: an RPC server of TVM's own that registers with a tracker and answers nonsense.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

from collage_test_toolchains import Numpy

from collage_core.cost.database import records
from collage_core.cost.fleet.protocol import ASK, PUT
from collage_core.cost.fleet.request_handler import describe

FOLDER = "COLLAGE_TEST_FOLDER"
"""Environment variable with the folder in which workers and the test leave each other files."""


class Waits(Numpy):
    """Says that a build has begun, and goes on when the test says so."""

    name = "waits"

    def spoil_build(self) -> None:
        folder = Path(os.environ[FOLDER])
        (folder / f"begun-{os.getpid()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)


class EndsItsSession(Numpy):
    """Kills the process above its own."""

    name = "ends_its_session"

    def spoil_build(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)


class OtherMachine(Numpy):
    """A worker that knows this toolchain passes for another machine."""

    name = "other_machine"

    def __init__(self) -> None:
        records._cpu_model = lambda: "Another CPU"


def give_text(words: str) -> str:
    return words


def give_object() -> object:
    return object()


def give_nan() -> float:
    return float("nan")


# The nonsense, by name: what it answers for a trial.
RECORD = asdict(records.Record(samples=(1e-9,), error=0.0, reference_s=1e-3))
NONSENSE = {
    "no_json": "\x80\x05K\x01.",
    "a_list": "[1, 2]",
    "no_record": json.dumps({"record": None}),
    "nan": json.dumps({"record": {**RECORD, "samples": [float("nan")]}}),
    "text_for_numbers": json.dumps({"record": {**RECORD, "samples": "abc"}}),
    "longer_than_it_took": json.dumps({"record": {**RECORD, "samples": [9000.0]}}),
    "a_failure_with_samples": json.dumps({"record": {**RECORD, "stage": "build", "reason": "x"}}),
    "an_unknown_stage": json.dumps({"record": {**RECORD, "samples": [], "stage": "lunch", "reason": "x"}}),
}


def answer_nonsense() -> None:
    """Register functions under the names of a worker's, in TVM's own RPC server."""
    import tvm_ffi

    answer = NONSENSE[os.environ["COLLAGE_TEST_NONSENSE"]]

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
    """``TRACKER_PORT KEY [NONSENSE]``: without the last, an RPC server that has none of a worker's functions."""
    from tvm import rpc

    port, key, *nonsense = sys.argv[1:]
    if nonsense:
        os.environ["COLLAGE_TEST_NONSENSE"] = nonsense[0]
    server = rpc.Server(
        "127.0.0.1", key=key, tracker_addr=("127.0.0.1", int(port)), server_init_callback=answer_nonsense if nonsense else None
    )
    server.proc.join()


if __name__ == "__main__":
    main()
