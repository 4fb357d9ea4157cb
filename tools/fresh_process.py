"""Measures things that run a whole model, each time in a fresh process of its own, in turns: an artifact beside the toolchains alone.

Kinds, paths and a file of inputs enter; seconds by round, and ratios with their intervals over the rounds, leave: by low quantiles, as runs
compare whole plans (`paired_rounds`). `fresh_measure` is the other side. Nothing large is imported here,
and no toolchain runs in this process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from collage_core.cost.measuring.paired_rounds import Round, beats, ratio_of, time_of

MEASURE = Path(__file__).resolve().parent / "fresh_measure.py"
LIMIT_S = 300.0
"""After so long a process is ended."""

MIX = "artifact"
TVM = "tvm"
"""A library that TVM's default pipeline made of a whole model."""
ALONE = ("onnxruntime", "openvino", "ncnn")
"""The toolchains that are measured alone, in float32 (or in the model's own integers)."""
LESS_PRECISE = ("openvino@bf16",)
"""Those that compute in less, which count only where that is accurate enough."""

FEWEST_ROUNDS = 6
"""With fewer an interval decides nothing (`paired_rounds.FEWEST_ROUNDS`)."""
MOST_ROUNDS = 15

SPIN_COUNT = "300000"
"""How often ncnn's idle threads look for work, unless told otherwise: alone they need not give way to another toolchain's."""


@dataclass(frozen=True)
class Measurement:
    """The seconds of a run in one process (`low_s`), or the reason why there are none."""

    low_s: float | None
    reason: str = ""


def measure(kind: str, path: Path, threads: int, inputs: Path, outputs: Path | None = None, limit_s: float = LIMIT_S) -> Measurement:
    """Measure in a fresh process.

    Args:
        kind: A key of `fresh_measure.KINDS`.
        path: The artifact's folder, or the model file.
        outputs: The ``.npz`` to which the outputs are written.
    """
    task = {"kind": kind, "path": str(path), "threads": threads, "inputs": str(inputs), "outputs": outputs and str(outputs)}
    environment = {**os.environ, "ORT_DISABLE_TELEMETRY": "1"} | ({"GOMP_SPINCOUNT": SPIN_COUNT} if kind == "ncnn" else {})
    command = [sys.executable, str(MEASURE), json.dumps(task)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit_s, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return Measurement(None, f"no answer within {limit_s:.0f} s")
    if ran.returncode < 0:
        return Measurement(None, f"its process crashed ({signal.Signals(-ran.returncode).name})")
    told = next((line for line in reversed(ran.stdout.splitlines()) if line.startswith("{")), "")
    if ran.returncode or not told:
        said = next((line.strip() for line in reversed(ran.stderr.splitlines()) if line.strip()), "it said nothing")
        return Measurement(None, f"its process ended with status {ran.returncode}: {said}")
    figures: dict[str, Any] = json.loads(told)
    return Measurement(figures["low_s"], figures.get("reason", ""))


@dataclass
class Rounds:
    """Seconds by round.

    Attributes:
        seconds: Name → seconds in each round; only of what ran in every round.
        reasons: Name → why it did not run.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def time_s(self, name: str) -> float | None:
        """Return the seconds over the rounds; None for what did not run."""
        time_s = time_of(self._rounds(name), 0)
        return None if time_s is None else time_s.value

    def best(self, names: Sequence[str]) -> str | None:
        """Return the fastest of `names`; None where none ran. Those with fewer rounds than others are out: they were far behind."""
        ran = [name for name in names if name in self.seconds]
        most = max((len(self.seconds[name]) for name in ran), default=0)
        return min((name for name in ran if len(self.seconds[name]) == most), key=lambda name: self.time_s(name) or 0.0, default=None)

    def leaders(self, groups: Sequence[Sequence[str]]) -> set[str]:
        """Return of each of some `groups` the fastest, and those that it does not beat (`paired_rounds.beats`)."""
        ahead = set()
        for names in groups:
            first = self.best(names)
            ahead |= {name for name in names if name in self.seconds and not (first and beats(self._rounds(first, name), 0, 1))}
        return ahead

    def ratio(self, name: str | None, base: str = MIX) -> Ratio | None:
        """Return how many times longer `name` takes than `base`, the mix unless given; None where one of them did not run."""
        if name not in self.seconds or base not in self.seconds:
            return None
        ratio = ratio_of(self._rounds(name, base), 0, 1)
        return None if ratio is None else Ratio(ratio.value, ratio.low, ratio.high, ratio.rounds)

    def _rounds(self, *names: str) -> list[Round]:
        """Return the rounds of some contenders, which are their indices there."""
        listed = [self.seconds.get(name, []) for name in names]
        return [dict(enumerate(seconds)) for seconds in zip(*listed, strict=False)]


@dataclass(frozen=True)
class Ratio:
    """How many times as long something takes, with the ends of the 95 % interval."""

    value: float
    low: float
    high: float
    rounds: int

    def is_apart_from(self, wanted: float) -> bool:
        """Return whether `wanted` is outside of the interval."""
        return not self.low <= wanted <= self.high

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}–{self.high:.2f}]"


def in_turns(
    contenders: Mapping[str, Callable[[], Measurement]],
    is_enough: Callable[[Rounds], bool],
    fewest: int = FEWEST_ROUNDS,
    most: int = MOST_ROUNDS,
    groups: Sequence[Sequence[str]] = (),
) -> Rounds:
    """Measure all contenders in turns, every other round in reverse; what fails once is left out of all rounds.

    Args:
        is_enough: Asked after each round from the round `fewest` on.
        groups: Names of contenders of which only the fastest matters: one that it beats takes no further turns.
    """
    rounds = Rounds({name: [] for name in contenders})
    grouped = set(chain(*groups))
    for index in range(most):
        behind = grouped - rounds.leaders(groups)
        for name in list(contenders)[:: 1 if index % 2 == 0 else -1]:
            if name not in rounds.seconds or name in behind:
                continue
            measured = contenders[name]()
            if measured.low_s is None:
                del rounds.seconds[name]
                rounds.reasons[name] = measured.reason
            else:
                rounds.seconds[name].append(measured.low_s)
        if not rounds.seconds or (index + 1 >= fewest and is_enough(rounds)):
            break
    return rounds


def until_apart(wanted: float, names: Sequence[str] = ALONE) -> Callable[[Rounds], bool]:
    """Return the `is_enough` of rounds that tell on which side of `wanted` the ratio of the best of `names` to the mix is."""

    def is_enough(rounds: Rounds) -> bool:
        ratio = rounds.ratio(rounds.best(names))
        return ratio is None or ratio.is_apart_from(wanted)

    return is_enough
