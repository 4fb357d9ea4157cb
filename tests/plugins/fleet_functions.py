"""Toolchains and functions for workers in tests: they wait for the test, end their worker, or pass for another machine.

`lie` makes a worker of this process that gives invalid answers.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
from collage_test_toolchains import Numpy

from collage_core.base import processor
from collage_core.cost.database import records
from collage_core.cost.fleet import request_handler

FOLDER = "COLLAGE_TEST_FOLDER"
"""Environment variable with the folder through which workers and the test exchange files."""


class Waits(Numpy):
    """Tells the test that a build has begun, and waits until the test lets it continue."""

    name = "waits"

    def spoil_build(self) -> None:
        folder = Path(os.environ[FOLDER])
        (folder / f"begun-{os.getpid()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)


class EndsItsWorker(Numpy):
    """Kills the worker, which is above the process that its own is forked from."""

    name = "ends_its_worker"

    def spoil_build(self) -> None:
        psutil.Process().parents()[1].kill()


class OtherMachine(Numpy):
    """The children of a worker that knows this toolchain pass for another machine."""

    name = "other_machine"

    def __init__(self) -> None:
        pass_for_another_machine()


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


class Bomb:
    """Its pickle leaves a file where it is opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (os.path.join(os.environ[FOLDER], "opened"),)


def lie(name: str) -> None:
    """Have this process give the answer of `INVALID_ANSWERS` called `name`, or a pickle that does something, to each trial."""

    def answer(session: Any, request: bytes, files: Any) -> Any:
        return Bomb() if name == "bomb" else INVALID_ANSWERS[name].encode()

    request_handler.answer = answer


def pass_for_another_machine() -> None:
    processor.name = lambda: "Another CPU"
